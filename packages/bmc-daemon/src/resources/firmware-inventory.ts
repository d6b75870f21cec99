/** Versions of what can be updated. */
import type { SystemSnapshot } from '../drivers/driver.js';

/** That of a machine's firmware: after an update over Redfish its, else what SMBIOS is told; null where nobody says. */
export function firmwareVersion({ firmwareUpdate, sysinfo }: SystemSnapshot): string | null {
  return firmwareUpdate?.installed ?? sysinfo.biosVersion;
}
