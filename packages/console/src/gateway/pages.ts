/** The pages of the console. Each page is one folder in `pages/`, and one entry here. */
import type { Page } from '../ui/frame/pages.js';
import { mayManage, role } from './api/session.js';
import { frameTexts } from '../texts/index.js';

const { pages: labels } = frameTexts;

/** All pages, in the order of the menu. */
export const pages: readonly Page[] = [
  { pattern: '', label: labels.models, icon: 'models', load: () => import('./pages/models/index.js') },
  {
    pattern: 'playground',
    label: labels.playground,
    icon: 'chat',
    load: () => import('./pages/playground/index.js'),
  },
  {
    pattern: 'spend',
    label: labels.spend,
    icon: 'spend',
    isOffered: mayManage,
    load: () => import('./pages/spend/index.js'),
  },
  {
    pattern: 'keys',
    label: labels.keys,
    icon: 'keys',
    isOffered: mayManage,
    load: () => import('./pages/keys/index.js'),
  },
  {
    pattern: 'key',
    label: labels.ownKey,
    icon: 'keys',
    isOffered: () => role.value?.kind === 'key',
    load: () => import('./pages/own-key/index.js'),
  },
];
