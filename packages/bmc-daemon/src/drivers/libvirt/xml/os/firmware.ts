/**
 * Edits the firmware of a machine, for Redfish's boot mode.
 * @see https://libvirt.org/formatdomain.html#operating-system-booting
 */
import { DriverError } from '../../../driver-error.js';
import type { FirmwareType } from '../../../snapshot/firmware-snapshot.js';
import type { DefinitionEdit } from '../definition-edit.js';
import type { OperatingSystem } from '../domain.js';
import { encodeAttribute, encodeText } from '../escape.js';
import { child, childElements } from '../tree.js';
import { enableSmm, STATEFUL_LOADER_LINES } from './secure-boot.js';

/** The files of a firmware. If `loaderPath` is null, libvirt selects the firmware. */
export interface FirmwareChoice {
  /**
   * Firmware file on the host; null: libvirt selects one (UEFI), or the default of the machine type
   * (BIOS).
   */
  readonly loaderPath: string | null;
  /**
   * Template of the UEFI variables. Null: libvirt finds the template in its firmware descriptors, or
   * the firmware is BIOS, which has no variables.
   */
  readonly nvramTemplate: string | null;
  /** The image at `loaderPath` requires System Management Mode. */
  readonly requiresSmm?: boolean;
}

/**
 * Returns a key for the template of a definition's UEFI variables. While the key stays the same,
 * the variables fit the firmware. Null: a BIOS machine has no variables.
 */
export function variablesTemplateKey(os: OperatingSystem, firmware: FirmwareType): string | null {
  if (firmware !== 'efi') return null;
  if (os.nvram?.template !== undefined && os.nvram.template !== null) return os.nvram.template;
  if (os.firmware === null) return `of ${os.loader?.path ?? ''}`;
  const feature = (name: string): string => String(os.firmwareFeatures.get(name) ?? 'any');
  return `selected, secure-boot ${feature('secure-boot')}, enrolled-keys ${feature('enrolled-keys')}`;
}

/**
 * Sets the firmware. Changes nothing if the definition already has this type and, if a file is given, this
 * file. So if no file is given, a UEFI image that the user has chosen is not replaced. After a change, the old
 * UEFI variables may not fit the firmware: `changeFirmware` records this.
 *
 * If libvirt selects the firmware, the definition requires firmware without Secure Boot. By default, libvirt would
 * select firmware with enrolled keys, which boots nothing unsigned.
 * @throws {DriverError} unsupported: the architecture has no BIOS, the machine type has no System Management
 *   Mode although the firmware requires it, or the definition has no `<os><type>`.
 */
export function setFirmware({ domain, xml }: DefinitionEdit, firmware: FirmwareType, choice: FirmwareChoice): void {
  const os = child(xml.root, 'os');
  const type = child(os, 'type');
  if (os === undefined || type === undefined) {
    throw new DriverError('unsupported', `setting the firmware of ${domain.name}: its definition has no <os><type>`, {
      field: 'firmware',
    });
  }
  if (isAsWanted(domain.os, domain.firmware, firmware, choice)) return;
  const { loaderPath } = choice;
  if (firmware === 'bios' && loaderPath === null && !/^(x86_64|i686)$/.test(domain.os.architecture)) {
    const why = `${domain.os.architecture} machines have no legacy firmware`;
    throw new DriverError('unsupported', `setting the firmware of ${domain.name}: ${why}`, {
      field: 'firmware',
    });
  }
  const smm = firmware === 'efi' && choice.requiresSmm === true;
  if (smm && /^(x86_64|i686)$/.test(domain.os.architecture) && !domain.os.machineType.includes('q35')) {
    const why = `${loaderPath ?? ''} needs System Management Mode, which a ${domain.os.machineType} does not have`;
    throw new DriverError('unsupported', `setting the firmware of ${domain.name}: ${why}`, {
      field: 'firmware',
    });
  }
  const old = ['loader', 'nvram', 'firmware', 'varstore'].flatMap((name) => childElements(os, name));
  if (firmware === 'efi' && loaderPath === null) xml.setAttribute(os, 'firmware', 'efi');
  else xml.removeAttribute(os, 'firmware');
  for (const element of old) xml.remove(element);
  if (smm) enableSmm(xml);
  // Inserts the last element first, because each insertion goes directly after <type>.
  for (const lines of firmwareMarkup(firmware, choice).toReversed()) xml.insert(os, lines, type);
}

function isAsWanted(
  os: OperatingSystem,
  current: FirmwareType,
  wanted: FirmwareType,
  { loaderPath }: FirmwareChoice,
): boolean {
  if (current !== wanted) return false;
  if (loaderPath !== null) return os.loader?.path === loaderPath;
  // The definition of a BIOS machine may name a ROM file. The file stays, because it is a BIOS.
  return true;
}

function firmwareMarkup(
  firmware: FirmwareType,
  { loaderPath, nvramTemplate, requiresSmm = false }: FirmwareChoice,
): readonly (readonly string[])[] {
  if (loaderPath === null) {
    if (firmware === 'bios') return [];
    return [['<firmware>', `  <feature enabled='no' name='secure-boot'/>`, '</firmware>'], STATEFUL_LOADER_LINES];
  }
  const path = encodeText(loaderPath);
  if (firmware === 'bios') return [[`<loader type='rom'>${path}</loader>`]];
  return [
    [`<loader readonly='yes'${requiresSmm ? ` secure='yes'` : ''} type='pflash'>${path}</loader>`],
    ...(nvramTemplate === null ? [] : [[`<nvram template='${encodeAttribute(nvramTemplate)}'/>`]]),
  ];
}
