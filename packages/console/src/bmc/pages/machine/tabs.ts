/** The tabs of a machine's page. Each tab is one folder here, and one entry in this list. */
import { may } from '../../redfish/session.js';
import { logsTexts, machineTexts, mediaTexts, screenTexts, telemetryTexts } from '../../../texts/index.js';
import type { MachineTab } from './tab.js';

const { tab: labels } = machineTexts;

/** All tabs, in their order. */
export const tabs: readonly MachineTab[] = [
  { path: '', label: labels.overview, load: () => import('./overview/index.js') },
  {
    path: 'boot',
    label: labels.boot,
    isOffered: ({ Boot }) => Boot !== undefined,
    load: () => import('./boot/index.js'),
  },
  { path: 'firmware', label: labels.firmware, load: () => import('./firmware/index.js') },
  { path: 'storage', label: labels.storage, load: () => import('./storage/index.js') },
  { path: 'network', label: labels.network, load: () => import('./network/index.js') },
  { path: 'media', label: mediaTexts.tab, load: () => import('./media/index.js') },
  { path: 'screen', label: screenTexts.tab, load: () => import('./screen/index.js') },
  {
    path: 'serial',
    label: labels.serial,
    isOffered: () => may('ConfigureComponents'),
    load: () => import('./serial/index.js'),
  },
  { path: 'telemetry', label: telemetryTexts.tab, load: () => import('./telemetry/index.js') },
  { path: 'events', label: logsTexts.events.tab, load: () => import('./events/index.js') },
  {
    path: 'console-log',
    label: logsTexts.console.tab,
    isOffered: () => may('ConfigureComponents'),
    load: () => import('./console-log/index.js'),
  },
  { path: 'json', label: labels.json, load: () => import('./json/index.js') },
];
