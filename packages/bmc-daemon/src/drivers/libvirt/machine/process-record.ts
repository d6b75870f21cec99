/**
 * The record of a machine's QEMU process, in its LIVE metadata only. It ends with the process, and
 * survives a restart of the daemon and of libvirtd. It says which boot order the process has. Its format is
 * that of the records in `xml/metadata/`, which survive the process. An example:
 *
 * ```xml
 * <process xmlns='https://rackless.dev/xmlns/bmc/process/1' version='2'>
 *   {"instance":7,"order":["disk:vda"],"armed":{"target":"cdrom","evidence":{"drive":"sda","reads":12}}}
 * </process>
 * ```
 *
 * If version 0.1 of the daemon started the machine, the record has the format of {@link readVersion1}.
 */
import { z } from 'zod';
import type { BootChoice } from '../../rules/boot-override.js';
import { isDeviceKey } from '../xml/devices/device-key.js';
import { checkVersion, findInMetadata, jsonElement, readMembers, versionOf } from '../xml/metadata/json-element.js';
import { parseXml, type ParsedElement } from '../xml/parse.js';
import { attribute, child } from '../xml/tree.js';
import type { XmlEdit } from '../xml/xml-edit.js';
import type { Instance } from './instance.js';

/** Parameter `uri` of virDomainSetMetadata. */
export const PROCESS_URI = 'https://rackless.dev/xmlns/bmc/process/1';
/** Parameter `key` of virDomainSetMetadata. */
export const PROCESS_PREFIX = 'rackless-process';

/** A one-time override that is set in the process, for its next reset. */
export interface Armed {
  readonly target: BootChoice;
  /**
   * The drive that the override boots from, and its number of reads when the override was set.
   * After its own restart, the daemon compares the number to find out whether the guest has
   * restarted. Null if there is no such number, as for a network boot.
   */
  readonly evidence: { readonly drive: string; readonly reads: number } | null;
}

/** The boot order that is set in one QEMU. */
export interface ProcessRecord {
  /**
   * libvirt's id of the instance. A record with another id is from a copied definition and is
   * ignored.
   */
  readonly instance: number;
  /** Device keys of the order without a one-time override. */
  readonly order: readonly string[];
  readonly armed: Armed | null;
}

const kinds: readonly string[] = ['network', 'cdrom', 'hd', 'fd', 'usb'];
const choice = z.custom<BootChoice>(
  (value) => typeof value === 'string' && (kinds.includes(value) || isDeviceKey(value)),
);

/** The schema of each member. */
const schemas = {
  instance: z.int(),
  order: z.array(z.string()),
  armed: z.object({
    target: choice,
    evidence: z.object({ drive: z.string(), reads: z.number() }).nullable().catch(null),
  }),
  /**
   * True in the definition with which a machine is started, until the first record of the process
   * replaces it.
   */
  starting: z.boolean(),
};

type Members = { readonly [Name in keyof typeof schemas]?: z.output<(typeof schemas)[Name]> };

/** Returns the record of an instance; null if it has none, or only a copy of another instance's record. */
export function readProcess({ id, xml }: Pick<Instance, 'id' | 'xml'>): ProcessRecord | null {
  const { instance, order, armed = null } = membersIn(xml);
  return instance !== id || order === undefined ? null : { instance, order, armed };
}

/**
 * Returns whether this instance was started paused for a one-time override, and the daemon has not completed
 * this start yet.
 */
export function isStarting({ xml }: Pick<Instance, 'xml'>): boolean {
  return membersIn(xml).starting === true;
}

/**
 * Returns the markup for virDomainSetMetadata. The markup keeps members that a newer version of the daemon
 * has added to the record of this instance.
 * @param instance the running machine, with its current record.
 * @throws {DriverError} conflict, if a newer version of the daemon has written the record in a
 *   newer format.
 */
export function renderProcess(
  { id, xml }: Pick<Instance, 'id' | 'xml'>,
  record: Omit<ProcessRecord, 'instance'>,
): string {
  const { root } = parseXml(xml);
  const written = findInMetadata(root, PROCESS_URI);
  checkVersion(root, written, 'the record of its process');
  const isCurrent = readProcess({ id, xml }) !== null;
  const later = written === undefined || !isCurrent ? {} : readMembers(written, schemas).later;
  const { order, armed } = record;
  return jsonElement('process', { instance: id, order, ...(armed === null ? {} : { armed }), ...later });
}

/**
 * Adds a mark to the definition for a paused start. If the daemon ends during the start, the
 * restarted daemon finds the mark and completes the start. The mark replaces the record of a
 * process, if the definition was copied from a running machine.
 */
export function addStartingMark(xml: XmlEdit): void {
  const markup = jsonElement(`${PROCESS_PREFIX}:process`, { starting: true }, { namespace: PROCESS_URI });
  const [copied, metadata] = [findInMetadata(xml.root, PROCESS_URI), child(xml.root, 'metadata')];
  if (copied !== undefined) xml.replace(copied, markup);
  else if (metadata === undefined) xml.insert(xml.root, `<metadata>${markup}</metadata>`);
  else xml.insert(metadata, markup);
}

function membersIn(xml: string): Members {
  const element = findInMetadata(parseXml(xml).root, PROCESS_URI);
  if (element === undefined) return {};
  return versionOf(element) === 1 ? readVersion1(element) : readMembers(element, schemas).known;
}

/**
 * Reads the format of version 0.1:
 *
 * ```xml
 * <process instance='7' armed='cdrom' drive='sda' reads='12'><order key='disk:vda'/></process>
 * <process starting='yes'/>
 * ```
 */
function readVersion1(element: ParsedElement): Members {
  const [instance, drive, reads] = ['instance', 'drive', 'reads'].map((name) => attribute(element, name));
  const armed = schemas.armed.safeParse({
    target: attribute(element, 'armed'),
    evidence: drive === null || reads === null ? null : { drive, reads: Number(reads) },
  }).data;
  return {
    ...(instance === null ? {} : { instance: Number(instance) }),
    order: element.nodes.flatMap((node) => (node.kind === 'element' ? (attribute(node, 'key') ?? []) : [])),
    ...(armed === undefined ? {} : { armed }),
    starting: attribute(element, 'starting') === 'yes',
  };
}
