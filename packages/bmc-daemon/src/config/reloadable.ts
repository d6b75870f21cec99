/** The settings that a reload applies. */
import type { SettingKey } from './settings.js';

/**
 * Settings that a reload changes in the running daemon. All others need a restart. So do a change between HTTP
 * and HTTPS, and a change of `libvirtUri` from or to a single URI.
 */
export const reloadableKeys = [
  'sslCert',
  'sslKey',
  'libvirtUri',
  'ignoreBootDevice',
  'disablePowerOff',
  'taskAfterSeconds',
  'shutdownWaitSeconds',
] as const satisfies readonly SettingKey[];
