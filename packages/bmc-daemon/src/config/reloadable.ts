/** Settings that a reload applies at once. */
import type { SettingKey } from './settings.js';

/** Settings that each request reads again. All others need a restart. */
export const reloadableKeys = [
  'sslCert',
  'sslKey',
  'ignoreBootDevice',
  'disablePowerOff',
  'taskAfterSeconds',
  'shutdownWaitSeconds',
] as const satisfies readonly SettingKey[];
