/** Settings that hold at once when the configuration is read again. */
import type { SettingKey } from './settings.js';

/** What is looked at anew for every request, and so can change between two. All else is built into what runs. */
export const reloadableKeys = [
  'sslCert',
  'sslKey',
  'ignoreBootDevice',
  'disablePowerOff',
  'taskAfterSeconds',
  'shutdownWaitSeconds',
] as const satisfies readonly SettingKey[];
