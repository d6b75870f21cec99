/** The firmware of a server by the properties of its image and its flavor. */
import type { FirmwareSnapshot, FirmwareType } from '../../snapshot/firmware-snapshot.js';
import type { SystemSnapshot } from '../../snapshot/system-snapshot.js';
import type { Server } from '../compute/server.js';
import type { ImageProperties } from './image-properties.js';
import { shortLine } from '../http/plain-text.js';

const types: ReadonlyMap<string, FirmwareType> = new Map([
  ['uefi', 'efi'],
  ['bios', 'bios'],
]);

/**
 * Returns the firmware type in the properties of an image; null if the compute host decides, or the
 * image is unknown.
 */
export function firmwareTypeOf(properties: ImageProperties | undefined): FirmwareType | null {
  return types.get(properties?.['hw_firmware_type'] ?? '') ?? null;
}

/**
 * Returns the firmware, completed by the properties of the image, and the machine type if the image names one.
 * The flavor's setting of Secure Boot overrides that of the image.
 * @param properties undefined: the image is unknown, so the firmware stays as it is.
 */
export function imageFirmware(
  firmware: FirmwareSnapshot,
  { flavor, state }: Pick<Server, 'flavor'> & Pick<SystemSnapshot, 'state'>,
  properties: ImageProperties | undefined,
): Pick<SystemSnapshot, 'firmware' | 'machineType'> {
  if (properties === undefined) return { firmware };
  const { os_secure_boot: wanted, hw_machine_type: machineType = '' } = properties;
  const secure = secureBootOf(flavor.secureBoot ?? wanted);
  const shownType = shortLine(machineType);
  return {
    firmware: {
      ...firmware,
      secureBoot: { enabled: secure, current: state === 'shutoff' ? null : secure, enrolled: null },
      // Without the property, the compute host decides: usually legacy BIOS on x86, and UEFI on Arm.
      settings: { ...firmware.settings, firmware: firmwareTypeOf(properties), secureBoot: secure },
    },
    ...(shownType === '' ? {} : { machineType: shownType }),
  };
}

/**
 * Returns whether Nova uses Secure Boot; null if the compute host decides. Without a property, Nova
 * does not use it.
 */
function secureBootOf(wanted: string | undefined): boolean | null {
  return wanted === 'optional' ? null : wanted === 'required';
}
