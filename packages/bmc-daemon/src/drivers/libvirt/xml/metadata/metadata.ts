/**
 * The record of the daemon in a domain's metadata. It survives restarts of the daemon and moves
 * with the machine.
 *
 * ```xml
 * <rackless:machine xmlns:rackless='https://rackless.dev/xmlns/bmc/1' indicator='lit'>
 *   <rackless:boot enabled='continuous' target='cdrom' applied='yes'>
 *     <rackless:os at='1' markup='&#10;    &lt;boot dev=&apos;hd&apos;/>'/>
 *     <rackless:device key='disk:vda' order='2'/>
 *   </rackless:boot>
 *   <rackless:settings kept='{"QuietBoot":true}' pending='{"cpuCount":2}'/>
 *   <rackless:disks kept='[…]'/>
 *   <rackless:unattached kept='[{"pool":"rackless-images","volume":"rackless-volume-….qcow2"}]'/>
 *   <rackless:owner assetTag='rack 7' firmware='1.0.1'/>
 *   <rackless:media device='cdrom' drive='sda' image='https://…/x.iso' name='x.iso' source='/…/x.iso' readonly='yes'/>
 *   <rackless:mediaSettings kept='[{"device":"usb","verifyCertificate":true,"certificates":[]}]'/>
 *   <rackless:intent kind='restart' instance='7' force='yes'/>
 * </rackless:machine>
 * ```
 */
import type { BootOverrideEnabled, BootTarget } from '../../../snapshot/boot-snapshot.js';
import type { IndicatorState } from '../../../snapshot/hardware-snapshot.js';
import type { BootOverride } from '../../../rules/boot-override.js';
import type { SavedBootOrder } from '../os/boot-order.js';
import { attribute, child, encodeAttribute, parseXml } from '../parse.js';
import type { XmlDocument, XmlElement } from '../parse.js';
import { isDeviceKey } from '../devices/device-key.js';
import { readIntent, renderIntent, restartOf, type Intents } from './intent-record.js';
import { readDiskRecords, renderDiskRecords, type DiskRecord } from './disk-record.js';
import { readMediaRecord, renderMediaRecord, type MediaRecord } from './media-record.js';
import { readMediaSettings, renderMediaSettings, type MediaSettingsRecord } from './media-settings-record.js';
import { readOwnerRecord, renderOwnerRecord, type OwnerRecord } from './owner-record.js';
import { readSettingsRecord, renderSettingsRecord, type SettingsRecord } from './settings-record.js';
import { applySplices, insertChild, removeElement, replaceElement } from '../splice.js';
import { readUnattachedRecords, renderUnattachedRecords, type UnattachedRecord } from './unattached-record.js';

/** For virDomainSetMetadata: `uri` and `key`. */
export const METADATA_URI = 'https://rackless.dev/xmlns/bmc/1';
/** For virDomainSetMetadata: `key`. */
export const METADATA_PREFIX = 'rackless';

/** An override, with the order that it has replaced. */
export interface BootRecord extends BootOverride {
  /** The order of the user, while the persistent definition has that of the override. */
  readonly saved: SavedBootOrder | null;
}

/** The record. A member is null if no client has set it. */
export interface MachineRecord {
  readonly indicator: IndicatorState | null;
  readonly boot: BootRecord | null;
  /** Inserted images, one for each device. */
  readonly media: readonly MediaRecord[] | null;
  readonly mediaSettings: readonly MediaSettingsRecord[] | null;
  readonly settings: SettingsRecord | null;
  readonly disks: readonly DiskRecord[] | null;
  readonly unattached: readonly UnattachedRecord[] | null;
  readonly owner: OwnerRecord | null;
  /** Operations that have begun and must be finished. */
  readonly intents: Intents;
  /** The firmware has changed: the next start must reset the variables. */
  readonly resetNvram: boolean;
  /** Unknown child elements, as markup without prefix; written back unchanged. */
  readonly unknown: readonly string[];
}

/** The record of a machine that no client has changed. */
export const emptyRecord: MachineRecord = {
  indicator: null,
  boot: null,
  media: null,
  mediaSettings: null,
  settings: null,
  disks: null,
  unattached: null,
  owner: null,
  intents: null,
  resetNvram: false,
  unknown: [],
};

const INDICATORS: readonly IndicatorState[] = ['lit', 'off', 'blinking'];
const ENABLED: readonly BootOverrideEnabled[] = ['disabled', 'once', 'continuous'];
const TARGETS: readonly BootTarget[] = ['network', 'cdrom', 'hd', 'fd', 'usb', 'none', 'http', 'path', 'next'];

/**
 * Reads the record in a domain's XML. A member with an unknown format reads as never set, because a
 * mistake in edited metadata must not make a machine unreadable.
 */
export function readMetadata(xml: string | XmlDocument): MachineRecord {
  const document = typeof xml === 'string' ? parseXml(xml) : xml;
  const element = findElement(document);
  return element === undefined ? emptyRecord : readElement(document, element);
}

/**
 * Returns the markup for virDomainSetMetadata, without prefixes: libvirt sets the namespace itself.
 */
export function renderMetadata(record: MachineRecord): string {
  return render(record, '', '');
}

/**
 * Returns the definition with this record instead of its present record. Adds no `<metadata>` for
 * an empty record.
 */
export function withMetadata(xml: string, record: MachineRecord): string {
  const document = parseXml(xml);
  const existing = findElement(document);
  if (isEmpty(record)) return existing === undefined ? xml : applySplices(xml, [removeElement(document, existing)]);
  const markup = render(record, `${METADATA_PREFIX}:`, ` xmlns:${METADATA_PREFIX}='${METADATA_URI}'`);
  if (existing !== undefined) return applySplices(xml, [replaceElement(existing, markup)]);
  const metadata = child(document.root, 'metadata');
  if (metadata !== undefined) return applySplices(xml, [insertChild(document, metadata, markup)]);
  const lines = ['<metadata>', `  ${markup}`, '</metadata>'];
  // libvirt writes <metadata> after these elements.
  const names = ['description', 'title', 'genid', 'uuid', 'name'];
  const after = names.map((name) => child(document.root, name)).find((element) => element !== undefined);
  return applySplices(xml, [insertChild(document, document.root, lines, after ?? null)]);
}

/** Returns the definition with a changed record; the same text if nothing changes. */
export function withRecord(xml: string, edit: (record: MachineRecord) => MachineRecord): string {
  const record = readMetadata(xml);
  const changed = edit(record);
  return changed === record ? xml : withMetadata(xml, changed);
}

/** Returns whether the record is empty. */
function isEmpty({ resetNvram, unknown, ...others }: MachineRecord): boolean {
  return !resetNvram && unknown.length === 0 && Object.values(others).every((value) => value === null);
}

function findElement({ root }: XmlDocument): XmlElement | undefined {
  return child(root, 'metadata')?.nodes.find(
    (node): node is XmlElement => node.kind === 'element' && node.namespace === METADATA_URI,
  );
}

function readElement(document: XmlDocument, element: XmlElement): MachineRecord {
  const all = (local: string): readonly XmlElement[] =>
    element.nodes.filter(
      (node): node is XmlElement =>
        node.kind === 'element' && node.localName === local && node.namespace === element.namespace,
    );
  const own = (local: string): XmlElement | undefined => all(local)[0];
  const [boot, settings, disks, owner] = [own('boot'), own('settings'), own('disks'), own('owner')];
  const [mediaElements, mediaSettings, unattached] = [all('media'), own('mediaSettings'), own('unattached')];
  const media = mediaElements.flatMap((node) => readMediaRecord(node) ?? []);
  const restart = restartOf(attribute(element, 'restarting'));
  const intentElements = all('intent').filter((node) => readIntent(node) !== null);
  const intents = [...(restart === null ? [] : [restart]), ...intentElements.flatMap((node) => readIntent(node) ?? [])];
  const known = [boot, settings, disks, unattached, owner, mediaSettings, ...mediaElements, ...intentElements];
  return {
    indicator: oneOf(INDICATORS, attribute(element, 'indicator')),
    boot: boot === undefined ? null : readBoot(boot),
    media: media.length === 0 ? null : media,
    mediaSettings: mediaSettings === undefined ? null : readMediaSettings(mediaSettings),
    settings: settings === undefined ? null : readSettingsRecord(settings),
    disks: disks === undefined ? null : readDiskRecords(disks),
    unattached: unattached === undefined ? null : readUnattachedRecords(unattached),
    owner: owner === undefined ? null : readOwnerRecord(owner),
    intents: intents.length === 0 ? null : intents,
    resetNvram: attribute(element, 'resetNvram') === 'yes',
    unknown: element.nodes.flatMap((node) =>
      node.kind === 'element' && !known.includes(node) ? [withoutPrefix(document, element, node)] : [],
    ),
  };
}

function readBoot(element: XmlElement): BootRecord | null {
  const enabled = oneOf(ENABLED, attribute(element, 'enabled'));
  const target = oneOf(TARGETS, attribute(element, 'target'));
  if (enabled === null || target === null) return null;
  const children = element.nodes.filter((node): node is XmlElement => node.kind === 'element');
  const saved = {
    os: children.flatMap((node) => {
      const [at, markup] = [attribute(node, 'at'), attribute(node, 'markup')];
      return node.localName === 'os' && at !== null && markup !== null ? [{ at: Number(at), markup }] : [];
    }),
    devices: children.flatMap((node) => {
      const [key, order] = [attribute(node, 'key'), attribute(node, 'order')];
      return node.localName === 'device' && key !== null && order !== null ? [{ key, order }] : [];
    }),
  };
  const [option, httpUri] = [attribute(element, 'option'), attribute(element, 'httpUri')];
  return {
    enabled,
    target,
    ...(option !== null && isDeviceKey(option) ? { option } : {}),
    ...(httpUri === null ? {} : { httpUri }),
    saved: attribute(element, 'applied') === 'yes' ? saved : null,
  };
}

function oneOf<T extends string>(allowed: readonly T[], value: string | null): T | null {
  return allowed.find((candidate) => candidate === value) ?? null;
}

function render(record: MachineRecord, prefix: string, namespace: string): string {
  const { indicator, boot, media, mediaSettings, settings, disks, unattached, owner, intents, unknown } = record;
  const resetNvram = record.resetNvram ? 'yes' : null;
  const children = [
    ...(boot === null ? [] : [renderBoot(boot, prefix)]),
    ...(media ?? []).map((image) => `<${prefix}media${attributes(renderMediaRecord(image))}/>`),
    ...(mediaSettings === null ? [] : [`<${prefix}mediaSettings${attributes(renderMediaSettings(mediaSettings))}/>`]),
    ...(settings === null ? [] : [`<${prefix}settings${attributes(renderSettingsRecord(settings))}/>`]),
    ...(disks === null ? [] : [`<${prefix}disks${attributes(renderDiskRecords(disks))}/>`]),
    ...(unattached === null ? [] : [`<${prefix}unattached${attributes(renderUnattachedRecords(unattached))}/>`]),
    ...(owner === null ? [] : [`<${prefix}owner${attributes(renderOwnerRecord(owner))}/>`]),
    ...(intents ?? []).map((intent) => `<${prefix}intent${attributes(renderIntent(intent))}/>`),
    ...unknown.map((markup) => withPrefix(markup, prefix)),
  ];
  const start = `<${prefix}machine${namespace}${attributes({ indicator, resetNvram })}`;
  // On one line: libvirt adds line breaks, and line breaks inside `unknown` must stay.
  return children.length === 0 ? `${start}/>` : `${start}>${children.join('')}</${prefix}machine>`;
}

function renderBoot({ enabled, target, option, httpUri, saved }: BootRecord, prefix: string): string {
  const applied = saved === null ? null : 'yes';
  const start = `<${prefix}boot${attributes({ enabled, target, option: option ?? null, httpUri: httpUri ?? null, applied })}`;
  const children = [
    ...(saved?.os ?? []).map((boot) => `<${prefix}os${attributes(boot)}/>`),
    ...(saved?.devices ?? []).map((device) => `<${prefix}device${attributes(device)}/>`),
  ];
  return children.length === 0 ? `${start}/>` : `${start}>${children.join('')}</${prefix}boot>`;
}

function attributes(values: Readonly<Record<string, string | number | null>>): string {
  return Object.entries(values)
    .flatMap(([name, value]) => (value === null ? [] : [` ${name}='${encodeAttribute(String(value))}'`]))
    .join('');
}

/** Renames the tags of an element and its descendants in our namespace, by splices. */
function renameTags(document: XmlDocument, element: XmlElement, rename: (name: XmlElement) => string): string {
  const tags = (node: XmlElement): readonly XmlElement[] => [
    node,
    ...node.nodes.flatMap((inner) => (inner.kind === 'element' ? tags(inner) : [])),
  ];
  const splices = tags(element).flatMap((node) => {
    const text = rename(node);
    const start = { start: node.start + 1, end: node.start + 1 + node.name.length, text };
    const end = { start: node.contentEnd + 2, end: node.contentEnd + 2 + node.name.length, text };
    return node.selfClosing ? [start] : [start, end];
  });
  const moved = splices.map(({ start, end, text }) => ({
    start: start - element.start,
    end: end - element.start,
    text,
  }));
  return applySplices(document.source.slice(element.start, element.end), moved);
}

function withoutPrefix(document: XmlDocument, own: XmlElement, element: XmlElement): string {
  return renameTags(document, element, (node) => (node.namespace === own.namespace ? node.localName : node.name));
}

function withPrefix(markup: string, prefix: string): string {
  const document = parseXml(markup);
  return renameTags(document, document.root, (node) => (node.namespace === null ? prefix + node.name : node.name));
}
