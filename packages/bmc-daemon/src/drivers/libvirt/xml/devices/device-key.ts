import type { DeviceKey } from '../../../snapshot/firmware-snapshot.js';

/** Returns whether a text is a {@link DeviceKey}. */
export function isDeviceKey(text: string): text is DeviceKey {
  return text.includes(':');
}
