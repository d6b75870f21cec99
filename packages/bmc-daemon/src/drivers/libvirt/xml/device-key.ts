import type { DeviceKey } from '../../firmware-snapshot.js';

/** Whether a text that was read back names a device, as {@link DeviceKey} has it. */
export function isDeviceKey(text: string): text is DeviceKey {
  return text.includes(':');
}
