/** Reads the state of a machine and its host that an operation can change, for comparisons. */
import { readFile } from 'node:fs/promises';
import { variableNames } from '../../src/drivers/libvirt/firmware/variable-store.js';
import { readMetadata } from '../../src/drivers/libvirt/xml/metadata/metadata.js';
import type { Bmc } from '../e2e/bmc.js';

/** The pool that the daemon stores images in. */
export const IMAGE_POOL = 'rackless-images';

/** The state of a machine and its host that an operation can change. */
export interface Fingerprint {
  readonly power: string;
  readonly definition: string;
  /** Target and source of each disk of the running guest. */
  readonly guestDisks: readonly string[];
  /** Disks and drives that the running QEMU boots from at its next reset, in order. */
  readonly guestOrder: readonly string[];
  readonly autostart: string;
  readonly system: unknown;
  readonly settings: unknown;
  readonly drives: unknown;
  /** Names of the UEFI variables; null where the machine has no store of them. */
  readonly variables: readonly string[] | null;
  readonly volumes: readonly string[];
  readonly pools: readonly string[];
  /** Operations and volumes that the machine's metadata still contains. */
  readonly unfinished: readonly unknown[];
}

/** A machine, and access to its state. */
export interface Subject {
  readonly name: string;
  readonly uuid: string;
  readonly bmc: Bmc;
  /** URI of its system. */
  readonly path: string;
  /** URI of its manager. */
  readonly manager: string;
  /** The file that libvirt stores its UEFI variables in. */
  readonly variablesFile: string;
  virsh(...words: readonly string[]): Promise<string>;
}

/** Reads the state of a machine and its host. Replaces the UUID of the machine, which is new in each run. */
export async function readFingerprint(subject: Subject): Promise<Fingerprint> {
  const text = JSON.stringify(await readState(subject));
  // The text is the JSON of the Fingerprint from `readState`, with another UUID.
  return JSON.parse(text.replaceAll(subject.uuid, 'UUID')) as Fingerprint;
}

async function readState(subject: Subject): Promise<Fingerprint> {
  const { name, bmc, path } = subject;
  const inactive = await subject.virsh('dumpxml', '--inactive', name);
  const power = (await subject.virsh('domstate', name)).trim();
  const isOff = power === 'shut off';
  const disks = isOff ? '' : await subject.virsh('domblklist', name);
  const system = (await bmc.get(path)) as Record<string, unknown>; // The schema requires an object.
  const bios = (await bmc.get(`${path}/Bios/Settings`)) as Record<string, unknown>; // The schema requires an object.
  const record = readMetadata(inactive);
  const { AssetTag, IndicatorLED, Boot, BiosVersion, ProcessorSummary } = system;
  return {
    power,
    definition: withoutVaryingParts(inactive),
    guestDisks: lines(withoutVaryingParts(disks)),
    guestOrder: isOff ? [] : await guestOrder(subject),
    autostart: lines(await subject.virsh('dominfo', name)).find((line) => line.startsWith('Autostart')) ?? '',
    system: { AssetTag, IndicatorLED, Boot, BiosVersion, ProcessorSummary },
    settings: bios['Attributes'],
    drives: await Promise.all(['Cd', 'Usb'].map((id) => drive(subject, id))),
    variables: await variablesIn(subject.variablesFile),
    volumes: (await volumesOf(subject)).map(withoutVaryingParts).sort(),
    pools: await poolsOf(subject),
    unfinished: [...(record.intents ?? []), ...(record.unattached ?? [])],
  };
}

/** Returns the names of all storage pools, also of inactive ones. */
export async function poolsOf(subject: Pick<Subject, 'virsh'>): Promise<readonly string[]> {
  return lines(await subject.virsh('pool-list', '--all', '--name'));
}

/** Returns the names of the volumes in the daemon's pool; empty if there is no pool. */
export async function volumesOf(subject: Pick<Subject, 'virsh'>): Promise<readonly string[]> {
  if (!(await poolsOf(subject)).includes(IMAGE_POOL)) return [];
  await subject.virsh('pool-refresh', IMAGE_POOL);
  return lines(await subject.virsh('vol-list', IMAGE_POOL)).map((line) => line.split(/\s+/)[0] ?? '');
}

async function drive({ bmc, manager }: Subject, id: string): Promise<unknown> {
  // The schema has both properties.
  const { Inserted, Image } = (await bmc.get(`${manager}/VirtualMedia/${id}`)) as Record<string, unknown>;
  return [Inserted, Image];
}

/** Returns the aliases of the disks and drives that have a `bootindex` in QEMU, in boot order. */
async function guestOrder(subject: Subject): Promise<readonly string[]> {
  const { name } = subject;
  const live = await subject.virsh('dumpxml', name);
  const disks = live.match(/<disk [\s\S]*?<\/disk>/g) ?? [];
  const aliases = disks.flatMap((disk) => /<alias name='([^']+)'/.exec(disk)?.[1] ?? []);
  const numbered: (readonly [number, string])[] = [];
  for (const alias of aliases) {
    const words = { path: `/machine/peripheral/${alias}`, property: 'bootindex' };
    const command = JSON.stringify({ execute: 'qom-get', arguments: words });
    // QMP answers with an object.
    const answer = JSON.parse(await subject.virsh('qemu-monitor-command', name, command)) as { return?: number };
    if (answer.return !== undefined && answer.return >= 0) numbered.push([answer.return, alias]);
  }
  return numbered.sort(([a], [b]) => a - b).map(([, alias]) => alias);
}

async function variablesIn(file: string): Promise<readonly string[] | null> {
  const bytes = await readFile(file).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null; // Node's file system throws this type.
    throw error;
  });
  return bytes && (variableNames(bytes)?.toSorted() ?? null);
}

/**
 * Removes the parts of a text that libvirt or QEMU adds or that are random: addresses, metadata,
 * names.
 */
function withoutVaryingParts(text: string): string {
  return text
    .replace(/\s*<metadata(\/>|>[\s\S]*<\/metadata>)/, '')
    .replaceAll(/\s*<(address|alias|backingStore)\b[^>]*\/>/g, '')
    .replaceAll(/(rackless-volume-[0-9a-f-]{36})-[0-9a-f]{8}/g, '$1')
    .replaceAll(/(rackless-[0-9a-f]{16})-[0-9a-f]{16}/g, '$1');
}

function lines(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
