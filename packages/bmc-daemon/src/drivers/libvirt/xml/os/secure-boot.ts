/** Reads and edits Secure Boot in a definition. */
import { DriverError } from '../../../driver-error.js';
import type { SecureBootMode } from '../../../system-change.js';
import type { FirmwareCatalog } from '../../firmware-catalog.js';
import type { DefinitionEdit } from '../definition-edit.js';
import type { OperatingSystem } from '../domain.js';
import { encodeAttribute, encodeText } from '../escape.js';
import { attribute, child, childElements } from '../tree.js';
import type { XmlEdit } from '../xml-edit.js';

/** State of Secure Boot. Null: unknown from the definition. */
interface SecureBootState {
  readonly enabled: boolean | null;
  readonly enrolled: boolean | null;
}

/** The firmware files that a definition names. */
export interface SecureBootFiles {
  readonly loaderPath: string;
  readonly template: string;
  readonly requiresSmm: boolean;
}

/**
 * The lines that restrict libvirt's selection to firmware that stores its variables. Newer hosts
 * also have firmware without a store (AMD SEV), which libvirt prefers on q35 and which boots no
 * ordinary disk. libvirt before 8.6 ignores the attribute. libvirt 9.0 does not accept
 * `type='pflash'` here.
 */
export const STATEFUL_LOADER_LINES: readonly string[] = [`<loader stateless='no'/>`];

const unknown: SecureBootState = { enabled: null, enrolled: null };
const both = (value: boolean | null): SecureBootState => ({ enabled: value, enrolled: value });

/**
 * Returns the state for UEFI. With keys in its variables, firmware that supports Secure Boot enforces it;
 * without keys the firmware is in setup mode.
 */
export function secureBootState(os: OperatingSystem, catalog: FirmwareCatalog): SecureBootState {
  const { template } = os.nvram ?? { template: null };
  if (template !== null) return ofTemplate(template, os, catalog);
  if (os.firmware === null) {
    const path = os.loader?.path ?? null;
    if (path === null) return unknown;
    // libvirt finds the template for an image in its own list, so the state follows from the templates of
    // this image.
    const without = catalog.templateOfImage(path, { keys: false });
    const withKeys = catalog.templateOfImage(path, { keys: true });
    if (without !== null && withKeys === null) return both(false);
    return both(catalog.hasKeys(path));
  }
  const secure = os.firmwareFeatures.get('secure-boot');
  const keys = os.firmwareFeatures.get('enrolled-keys');
  if (secure === false || keys === false) return both(false);
  if (secure === true) return both(true);
  const selected = catalog.selected(os);
  if (selected === null) return unknown;
  return both(selected.features.includes('secure-boot') && selected.features.includes('enrolled-keys'));
}

function ofTemplate(template: string, os: OperatingSystem, catalog: FirmwareCatalog): SecureBootState {
  const enrolled = catalog.hasKeys(template);
  const path = os.loader?.path ?? null;
  // On x86, enforcement requires SMM. An image that does not require it has no Secure Boot.
  const canEnforce = !/^(x86_64|i686)$/.test(os.architecture) || path === null || catalog.requiresSmm(path);
  return { enabled: canEnforce ? enrolled : false, enrolled };
}

/**
 * Sets the mode of Secure Boot. The variables must then be recreated from their template, which
 * contains the keys.
 * @param files null: libvirt selects the firmware, even if the definition names it now.
 * @throws {DriverError} unsupported, for a BIOS machine or a definition without `<os><type>`.
 */
export function setSecureBoot(
  { domain, xml }: DefinitionEdit,
  mode: SecureBootMode,
  files: SecureBootFiles | null,
): void {
  const os = child(xml.root, 'os');
  const type = child(os, 'type');
  if (os === undefined || type === undefined || domain.firmware !== 'efi') {
    throw new DriverError(
      'unsupported',
      `changing Secure Boot of ${domain.name}: it boots by legacy BIOS, not by UEFI`,
      {
        field: 'secureBoot',
      },
    );
  }
  const old = ['loader', 'nvram', 'firmware', 'varstore'].flatMap((name) => childElements(os, name));
  // Keeps the path of the variables, because the user may have chosen it.
  const path = domain.os.nvram?.path ?? null;
  const markup = files === null ? selectedMarkup(mode, path) : namedMarkup(files, path);
  if (files === null) xml.setAttribute(os, 'firmware', 'efi');
  else xml.removeAttribute(os, 'firmware');
  for (const element of old) xml.remove(element);
  // Inserts the last element first, because each insertion goes directly after <type>.
  for (const lines of markup.toReversed()) xml.insert(os, lines, type);
  if (files?.requiresSmm === true) enableSmm(xml);
  else if (mode !== 'off') enableDisabledSmm(xml);
}

function selectedMarkup(mode: SecureBootMode, path: string | null): readonly (readonly string[])[] {
  const feature = (name: string, enabled: boolean): string =>
    `  <feature enabled='${enabled ? 'yes' : 'no'}' name='${name}'/>`;
  const features =
    mode === 'off'
      ? [feature('secure-boot', false)]
      : [feature('enrolled-keys', mode === 'on'), feature('secure-boot', true)];
  return [
    ['<firmware>', ...features, '</firmware>'],
    STATEFUL_LOADER_LINES,
    ...(path === null ? [] : [[`<nvram>${encodeText(path)}</nvram>`]]),
  ];
}

function namedMarkup({ loaderPath, template, requiresSmm }: SecureBootFiles, path: string | null) {
  const secure = requiresSmm ? ` secure='yes'` : '';
  const nvram = `<nvram template='${encodeAttribute(template)}'`;
  return [
    [`<loader readonly='yes'${secure} type='pflash'>${encodeText(loaderPath)}</loader>`],
    [path === null ? `${nvram}/>` : `${nvram}>${encodeText(path)}</nvram>`],
  ];
}

/**
 * Enables System Management Mode, which firmware needs to protect its variables. libvirt rejects a definition
 * with such firmware and without SMM.
 */
export function enableSmm(xml: XmlEdit): void {
  const features = child(xml.root, 'features');
  if (features === undefined) {
    xml.insert(xml.root, [`<features>`, `  <smm state='on'/>`, `</features>`]);
    return;
  }
  const smm = child(features, 'smm');
  if (smm === undefined) xml.insert(features, `<smm state='on'/>`);
  else xml.setAttribute(smm, 'state', 'on');
}

/**
 * Enables SMM if the definition disables it. If the definition has no setting for it, libvirt enables SMM
 * itself for firmware that it selects.
 */
function enableDisabledSmm(xml: XmlEdit): void {
  const smm = child(xml.root, 'features', 'smm');
  if (smm !== undefined && attribute(smm, 'state') === 'off') xml.setAttribute(smm, 'state', 'on');
}
