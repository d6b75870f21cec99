/**
 * Edits the firmware of a machine, for Redfish's boot mode.
 * @see https://libvirt.org/formatdomain.html#operating-system-booting
 */
import { DriverError } from '../../../driver-error.js';
import type { FirmwareType } from '../../../snapshot/firmware-snapshot.js';
import { readDomain, type OperatingSystem } from '../domain.js';
import { encodeAttribute, encodeText } from '../escape.js';
import { parseXml } from '../parse.js';
import { child, childElements } from '../tree.js';
import { KEEPS_VARIABLES, smmOn } from './secure-boot.js';
import { applySplices, insertChild, removeAttribute, removeElement, setAttribute } from '../splice.js';

/** The files of a firmware; null: libvirt selects them. */
export interface FirmwareChoice {
  /**
   * Firmware file on the host; null: libvirt selects one (UEFI), or the default of the machine type
   * (BIOS).
   */
  readonly loaderPath: string | null;
  /**
   * Template of the variables for a `loaderPath` that libvirt does not know; null: libvirt finds
   * it.
   */
  readonly nvramTemplate: string | null;
  /** The image at `loaderPath` requires System Management Mode. */
  readonly requiresSmm?: boolean;
}

/**
 * Returns the identity of the template of a definition's variables. While it stays the same, the
 * variables fit. Null: a BIOS machine has none.
 */
export function variablesOf(os: OperatingSystem, firmware: FirmwareType): string | null {
  if (firmware !== 'efi') return null;
  if (os.nvram?.template !== undefined && os.nvram.template !== null) return os.nvram.template;
  if (os.firmware === null) return `of ${os.loader?.path ?? ''}`;
  const feature = (name: string): string => String(os.firmwareFeatures.get(name) ?? 'any');
  return `selected, secure-boot ${feature('secure-boot')}, enrolled-keys ${feature('enrolled-keys')}`;
}

/**
 * Returns the definition with the requested firmware; the same text if it has that type already, so
 * that the user's own choice of UEFI firmware stays. After a change the old variables do not fit:
 * start with VIR_DOMAIN_START_RESET_NVRAM.
 *
 * Secure Boot is off in firmware that libvirt selects. By default libvirt would select firmware
 * with enrolled keys, which boots nothing unsigned.
 * @throws {DriverError} unsupported, for BIOS on a machine type without BIOS.
 */
export function withFirmware(xml: string, firmware: FirmwareType, choice: FirmwareChoice): string {
  const document = parseXml(xml);
  const domain = readDomain(document);
  const os = child(document.root, 'os');
  const type = child(os, 'type');
  if (os === undefined || type === undefined) {
    throw new DriverError('unsupported', `setting the firmware of ${domain.name}: its definition has no <os><type>`, {
      field: 'firmware',
    });
  }
  if (isAsWanted(domain.os, domain.firmware, firmware, choice)) return xml;
  const { loaderPath } = choice;
  if (firmware === 'bios' && loaderPath === null && !/^(x86_64|i686)$/.test(domain.os.architecture)) {
    const why = `${domain.os.architecture} machines have no legacy firmware`;
    throw new DriverError('unsupported', `setting the firmware of ${domain.name}: ${why}`, {
      field: 'firmware',
    });
  }
  const smm = firmware === 'efi' && choice.requiresSmm === true;
  if (smm && /^(x86_64|i686)$/.test(domain.os.architecture) && !domain.os.machineType.includes('q35')) {
    const why = `${loaderPath ?? ''} needs System Management Mode, which a ${domain.os.machineType} has not`;
    throw new DriverError('unsupported', `setting the firmware of ${domain.name}: ${why}`, {
      field: 'firmware',
    });
  }
  const old = ['loader', 'nvram', 'firmware', 'varstore'].flatMap((name) => childElements(os, name));
  const selected = firmware === 'efi' && loaderPath === null;
  return applySplices(xml, [
    ...(selected ? [setAttribute(document, os, 'firmware', 'efi')] : removeAttribute(document, os, 'firmware')),
    ...old.map((element) => removeElement(document, element)),
    ...(smm ? [smmOn(document)] : []),
    ...firmwareMarkup(firmware, choice).map((markup) => insertChild(document, os, markup, type)),
  ]);
}

function isAsWanted(
  os: ReturnType<typeof readDomain>['os'],
  current: FirmwareType,
  wanted: FirmwareType,
  { loaderPath }: FirmwareChoice,
): boolean {
  if (current !== wanted) return false;
  if (loaderPath !== null) return os.loader?.path === loaderPath;
  // A ROM in the definition of a BIOS machine is BIOS too.
  return true;
}

function firmwareMarkup(
  firmware: FirmwareType,
  { loaderPath, nvramTemplate, requiresSmm = false }: FirmwareChoice,
): readonly (readonly string[])[] {
  if (loaderPath === null) {
    if (firmware === 'bios') return [];
    return [['<firmware>', `  <feature enabled='no' name='secure-boot'/>`, '</firmware>'], KEEPS_VARIABLES];
  }
  const path = encodeText(loaderPath);
  if (firmware === 'bios') return [[`<loader type='rom'>${path}</loader>`]];
  return [
    [`<loader readonly='yes'${requiresSmm ? ` secure='yes'` : ''} type='pflash'>${path}</loader>`],
    ...(nvramTemplate === null ? [] : [[`<nvram template='${encodeAttribute(nvramTemplate)}'/>`]]),
  ];
}
