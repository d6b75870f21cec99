/**
 * Reads the metadata of version 0.1, which had elements, JSON in attributes and escaped XML. The
 * next change of the machine writes the current format.
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
 *   <rackless:media device='cdrom' drive='sda' image='https://…/x.iso' name='x.iso' source='/…/x.iso' writeProtected='yes'/>
 *   <rackless:mediaSettings kept='[{"device":"usb","verifyCertificate":true,"certificates":[]}]'/>
 *   <rackless:intent kind='restart' instance='7' force='yes'/>
 * </rackless:machine>
 * ```
 */
import type { z } from 'zod';
import { MEDIA_DEVICES } from '../../../snapshot/media-snapshot.js';
import { isDeviceKey } from '../devices/device-key.js';
import type { ParsedElement, XmlDocument } from '../parse.js';
import { attribute, type XmlElement } from '../tree.js';
import type { Intent, RestartIntent } from './intent-record.js';
import type { BootRecord, MachineRecord } from './machine-record.js';
import type { MediaRecord } from './media-record.js';
import type { OwnerRecord } from './owner-record.js';
import { memberSchemas } from './record-schema.js';
import type { SettingsRecord } from './settings-record.js';
import { withoutPrefix } from './unknown-markup.js';

/** Reads the format of version 0.1. Ignores a member with an unknown format. */
export function readVersion1(document: XmlDocument, element: ParsedElement): MachineRecord {
  const all = (local: string): readonly ParsedElement[] =>
    element.nodes.filter(
      (node): node is ParsedElement =>
        node.kind === 'element' && node.localName === local && node.namespace === element.namespace,
    );
  const own = (local: string): ParsedElement | undefined => all(local)[0];
  const [boot, settings, disks, owner] = [own('boot'), own('settings'), own('disks'), own('owner')];
  const [mediaElements, mediaSettings, unattached] = [all('media'), own('mediaSettings'), own('unattached')];
  const media = mediaElements.flatMap((node) => readMedia(node) ?? []);
  const restart = restartOf(attribute(element, 'restarting'));
  const intentElements = all('intent').filter((node) => readIntent(node) !== null);
  const intents = [...(restart === null ? [] : [restart]), ...intentElements.flatMap((node) => readIntent(node) ?? [])];
  const known = [boot, settings, disks, unattached, owner, mediaSettings, ...mediaElements, ...intentElements];
  return {
    indicator: memberSchemas.indicator.safeParse(attribute(element, 'indicator')).data ?? null,
    boot: boot === undefined ? null : readBoot(boot),
    media: media.length === 0 ? null : media,
    mediaSettings: listIn(mediaSettings, memberSchemas.mediaSettings),
    settings: settings === undefined ? null : readSettings(settings),
    disks: listIn(disks, memberSchemas.disks),
    unattached: listIn(unattached, memberSchemas.unattached),
    owner: owner === undefined ? null : readOwner(owner),
    created: null,
    intents: intents.length === 0 ? null : intents,
    resetNvram: attribute(element, 'resetNvram') === 'yes',
    later: {},
    unknown: element.nodes.flatMap((node) =>
      node.kind === 'element' && !known.includes(node) ? [withoutPrefix(document, element, node)] : [],
    ),
  };
}

function readBoot(element: XmlElement): BootRecord | null {
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
  const read = memberSchemas.boot.safeParse({
    enabled: attribute(element, 'enabled'),
    target: attribute(element, 'target'),
    ...(option !== null && isDeviceKey(option) ? { option } : {}),
    ...(httpUri === null ? {} : { httpUri }),
    saved: attribute(element, 'applied') === 'yes' ? saved : null,
  });
  return read.data ?? null;
}

/** Reads JSON in an attribute; undefined for an absent attribute and for an unknown format. */
function jsonIn<T>(element: XmlElement | undefined, name: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(JSON.parse(attribute(element, name) ?? '')).data;
  } catch {
    // The attribute is absent, or a user has edited it and it is not JSON anymore.
    return undefined;
  }
}

function listIn<T>(element: XmlElement | undefined, schema: z.ZodType<T>): T | null {
  return jsonIn(element, 'kept', schema) ?? null;
}

function readSettings(element: XmlElement): SettingsRecord {
  const { kept, pending, original } = memberSchemas.settings.shape;
  const [reason, time] = [attribute(element, 'failure'), attribute(element, 'failedAt')];
  return {
    kept: jsonIn(element, 'kept', kept) ?? {},
    pending: jsonIn(element, 'pending', pending) ?? {},
    failure: reason === null || time === null ? null : { reason, time },
    original: jsonIn(element, 'original', original) ?? {},
    variables: attribute(element, 'variables'),
  };
}

function readMedia(element: XmlElement): MediaRecord | null {
  const [drive, image] = [attribute(element, 'drive'), attribute(element, 'image')];
  const [imageName, source] = [attribute(element, 'name'), attribute(element, 'source')];
  // The first records had no `device`, because the daemon then supported only CD drives.
  const kind = attribute(element, 'device') ?? 'cdrom';
  const device = MEDIA_DEVICES.find((known) => known === kind);
  if (device === undefined || drive === null || image === null || imageName === null || source === null) return null;
  const isSet = (name: string): boolean => attribute(element, name) !== 'no';
  return {
    device,
    drive,
    image,
    imageName,
    source,
    writeProtected: isSet('writeProtected'),
    driveReadonly: isSet('driveReadonly'),
  };
}

function readOwner(element: XmlElement): OwnerRecord | null {
  const assetTag = attribute(element, 'assetTag');
  const [installed, staged] = [attribute(element, 'firmware'), attribute(element, 'stagedFirmware')];
  const record = {
    ...(assetTag === null ? {} : { assetTag }),
    ...(installed === null && staged === null ? {} : { firmwareUpdate: { installed, staged } }),
  };
  return Object.keys(record).length === 0 ? null : record;
}

function readIntent(element: XmlElement): Intent | null {
  switch (attribute(element, 'kind')) {
    case 'start':
      return { kind: 'start', fresh: attribute(element, 'fresh') === 'yes' };
    case 'restart':
      return restartOf(attribute(element, 'instance'), attribute(element, 'force') === 'yes');
    case 'drive': {
      const device = MEDIA_DEVICES.find((known) => known === attribute(element, 'device'));
      return device === undefined ? null : { kind: 'drive', device };
    }
    case 'autostart':
      return { kind: 'autostart', on: attribute(element, 'on') === 'yes' };
    case 'order':
      return { kind: 'order' };
    default:
      return null;
  }
}

/**
 * Reads the restart of an `intent`, or of the attribute `restarting` that older metadata have instead.
 * Returns null if there is no valid number.
 */
function restartOf(instance: string | null, force = false): RestartIntent | null {
  if (instance === null || !/^\d+$/.test(instance)) return null;
  return { kind: 'restart', instance: Number(instance), force };
}
