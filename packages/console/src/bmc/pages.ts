/** The pages of the console. Each page is one folder in `pages/`, and one entry here. */
import type { Page } from '../ui/frame/pages.js';
import { may } from './redfish/session.js';
import { consoleTexts } from '../texts/index.js';

const { pages: labels, administration } = consoleTexts;

/** All pages, in the order of the menu. The first pattern that matches applies. */
export const pages: readonly Page[] = [
  { pattern: '', label: labels.machines, icon: 'machines', load: () => import('./pages/machines/index.js') },
  { pattern: 'tasks', label: labels.tasks, icon: 'tasks', load: () => import('./pages/tasks/index.js') },
  { pattern: 'hosts', label: labels.hosts, icon: 'hosts', load: () => import('./pages/hosts/index.js') },
  {
    ...{ pattern: 'accounts', label: labels.accounts, icon: 'accounts', group: administration },
    load: () => import('./pages/accounts/index.js'),
  },
  {
    ...{ pattern: 'sessions', label: labels.sessions, icon: 'sessions', group: administration },
    load: () => import('./pages/sessions/index.js'),
  },
  {
    ...{ pattern: 'subscriptions', label: labels.subscriptions, icon: 'events', group: administration },
    load: () => import('./pages/subscriptions/index.js'),
  },
  {
    ...{ pattern: 'certificates', label: labels.certificates, icon: 'certificates', group: administration },
    isOffered: () => may('ConfigureManager'),
    load: () => import('./pages/certificates/index.js'),
  },
  {
    ...{ pattern: 'settings', label: labels.settings, icon: 'settings', group: administration },
    isOffered: () => may('ConfigureManager') && may('ConfigureUsers'),
    load: () => import('./pages/settings/index.js'),
  },
  {
    ...{ pattern: 'configuration', label: labels.configuration, icon: 'logs', group: administration },
    isOffered: () => may('ConfigureManager'),
    load: () => import('./pages/configuration/index.js'),
  },
  { pattern: 'systems/:id/*', load: () => import('./pages/machine/index.js') },
];
