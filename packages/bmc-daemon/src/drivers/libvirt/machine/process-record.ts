/**
 * The record of a machine's QEMU process, in its LIVE metadata only. It ends with the process, and
 * survives a restart of the daemon and of libvirtd. It says which boot order the process has. Data
 * that must survive the process is in `xml/metadata.ts`.
 *
 * ```xml
 * <process xmlns='https://rackless.dev/xmlns/bmc/process/1' instance='7' armed='cdrom' drive='sda' reads='12'>
 *   <order key='disk:vda'/>
 * </process>
 * ```
 */
import type { BootChoice } from '../../rules/boot-override.js';
import type { BootDevice } from '../../snapshot/firmware-snapshot.js';
import type { Instance } from './instance.js';
import { encodeAttribute } from '../xml/escape.js';
import { parseXml, type ParsedElement } from '../xml/parse.js';
import { attribute, child } from '../xml/tree.js';
import type { XmlEdit } from '../xml/xml-edit.js';

/** For virDomainSetMetadata: `uri` and `key`. */
export const PROCESS_URI = 'https://rackless.dev/xmlns/bmc/process/1';
/** For virDomainSetMetadata: `key`. */
export const PROCESS_PREFIX = 'rackless-process';

/** A once override that is set in the process, for its next reset. */
export interface Armed {
  readonly target: BootChoice;
  /**
   * The drive that the override boots from, and its number of reads at that time. A later daemon
   * compares the number to find out whether the guest has restarted. Null for a network boot, which
   * leaves no evidence.
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
  /** Device keys of the order without a once override. */
  readonly order: readonly string[];
  readonly armed: Armed | null;
}

/** Returns the record of this instance; null if there is none. */
export function readProcess({ id: instance, xml }: Pick<Instance, 'id' | 'xml'>): ProcessRecord | null {
  const element = findElement(xml);
  if (element === undefined || Number(attribute(element, 'instance')) !== instance) return null;
  const target = attribute(element, 'armed');
  const drive = attribute(element, 'drive');
  const reads = attribute(element, 'reads');
  return {
    instance,
    order: element.nodes.flatMap((node) => (node.kind === 'element' ? (attribute(node, 'key') ?? []) : [])),
    armed: !isChoice(target)
      ? null
      : { target, evidence: drive === null || reads === null ? null : { drive, reads: Number(reads) } },
  };
}

/**
 * Returns whether this instance was started paused for a once override, and was not resumed yet.
 */
export function isStarting({ xml }: Pick<Instance, 'xml'>): boolean {
  return attribute(findElement(xml), 'starting') === 'yes';
}

/** Returns the markup for virDomainSetMetadata. */
export function renderProcess({ instance, order, armed }: ProcessRecord): string {
  const evidence = armed?.evidence ?? null;
  const attributes = [
    ` instance='${instance}'`,
    ...(armed === null ? [] : [` armed='${encodeAttribute(armed.target)}'`]),
    ...(evidence === null ? [] : [` drive='${encodeAttribute(evidence.drive)}' reads='${evidence.reads}'`]),
  ].join('');
  return `<process${attributes}>${order.map((key) => `<order key='${encodeAttribute(key)}'/>`).join('')}</process>`;
}

/** Adds a mark to the definition for a paused start, so that a later daemon finishes the start. */
export function addStartingMark(xml: XmlEdit): void {
  const markup = `<${PROCESS_PREFIX}:process xmlns:${PROCESS_PREFIX}='${PROCESS_URI}' starting='yes'/>`;
  const metadata = child(xml.root, 'metadata');
  if (metadata === undefined) xml.insert(xml.root, `<metadata>${markup}</metadata>`);
  else xml.insert(metadata, markup);
}

function findElement(xml: string): ParsedElement | undefined {
  return child(parseXml(xml).root, 'metadata')?.nodes.find(
    (node): node is ParsedElement => node.kind === 'element' && node.namespace === PROCESS_URI,
  );
}

function isChoice(value: string | null): value is BootChoice {
  const kinds: readonly (string | null)[] = ['network', 'cdrom', 'hd', 'fd', 'usb'] satisfies readonly BootDevice[];
  return kinds.includes(value) || value?.includes(':') === true;
}
