/** The pages of the console. Each page is one folder in `pages/`, and one line here. */
import type { Page } from '../ui/frame/pages.js';
import { consoleTexts } from './texts/en/console.js';

const { pages: labels } = consoleTexts;

/** All pages, in the order of the menu. The first pattern that matches wins. */
export const pages: readonly Page[] = [
  { pattern: '', label: labels.machines, icon: 'machines', load: () => import('./pages/machines/index.js') },
  { pattern: 'systems/:id/*', load: () => import('./pages/machine/index.js') },
];
