/** Copies a machine of the host, also one that another program created. */
import type { StorageVolume } from '@rackless/libvirt';
import { attempt } from '../failure.js';
import { hasSavedState } from '../machine/saved-state.js';
import { readDomain, type Domain } from '../xml/domain.js';
import { element, markupLines } from '../xml/markup.js';
import { volumeOf } from '../volumes/disk-volume.js';
import { DefinitionEdit } from '../xml/definition-edit.js';
import { chooseAddresses } from './addresses.js';
import { cloneXml, ownDisks, withoutDaemon, type CloneIdentity } from './clone-xml.js';
import { build, recordOf, type CreateRequest, type Planned } from './create.js';
import { LabError, reasonOf } from './lab-error.js';
import { readMachines, withOtherUuids, type KnownMachine, type LabHost, type ReadOtherUuids } from './lab-host.js';
import { diskName, openLabPool, takenVolumes, type LabPool, type PlannedVolume } from './lab-pool.js';
import { reportOf } from './machine-report.js';
import { removeIncomplete, survey, type Survey } from './naming.js';
import { checkNetworks, type CheckedLink } from './platform/networks.js';

/** A machine to copy. */
interface CloneRequest extends Pick<CreateRequest, 'naming' | 'signal' | 'onReport' | 'onAdvice'> {
  /** Name of the source. */
  readonly source: string;
  /** Storage pool of the copies; null: the pool of each disk. */
  readonly pool: string | null;
}

/**
 * Copies the source for each name that has no machine yet, and reports the result of each name. Stops after a
 * copy that fails, or before the next copy after the signal.
 * @throws {LabError} for a problem before the first copy; {RangeError} if the prefix of the MAC addresses has too few
 *   addresses; {Error} AbortError, if the signal ends the wait for other hosts.
 * @throws {DriverError} if libvirt fails before the first copy, or as {@link withoutDaemon}.
 */
export async function cloneMachines(host: LabHost, request: CloneRequest): Promise<void> {
  const { naming, onReport, source: sourceName } = request;
  const source = (await readMachines(host)).find(({ name }) => name === sourceName);
  if (source === undefined) throw new LabError([`there is no machine ${sourceName}`]);
  const found = await survey(host, naming);
  const clones =
    found.missing.length === 0
      ? new Map<string, Planned>()
      : await withOtherUuids(host, request, (readOthers) => plan(host, request, { source, found, readOthers }));
  for (const name of found.names) {
    const existing = found.existing.get(name);
    if (existing !== undefined) {
      const isClone = existing.created.clonedFrom === source.uuid;
      const difference =
        existing.uuid === source.uuid
          ? 'it is the source itself: give the copy another name'
          : `it is not a clone of ${sourceName}`;
      onReport(isClone ? reportOf(existing, 'unchanged') : reportOf(existing, 'differs', [difference]));
      continue;
    }
    const planned = clones.get(name);
    if (planned === undefined || request.signal?.aborted === true) return;
    const report = await build(host, planned);
    onReport(report);
    if (report.outcome === 'failed') return;
  }
}

/** A disk to copy. */
interface SourceDisk {
  readonly volume: StorageVolume;
  readonly capacityBytes: number;
  readonly format: 'qcow2' | 'raw';
}

/** The inputs of {@link plan}. */
interface PlanInputs {
  readonly source: KnownMachine;
  readonly found: Survey;
  readonly readOthers: ReadOtherUuids;
}

async function plan(
  host: LabHost,
  { naming, pool: poolName, onAdvice }: CloneRequest,
  { source, found, readOthers }: PlanInputs,
): Promise<ReadonlyMap<string, Planned>> {
  const { hypervisor, timeoutMs } = host;
  await checkSource(source, timeoutMs);
  const text = withoutDaemon(source.xml);
  const { interfaces } = readDomain(text).devices;
  await checkNetworks(host, interfaces.flatMap(linkOf), onAdvice);
  const disks = await sourceDisks(host, source, text);
  const hostName = await attempt('reading the name of the host', () => hypervisor.getHostname({ timeoutMs }));
  await removeIncomplete(host, found);
  const pools = new Map<string, LabPool>();
  for (const name of new Set(disks.map(({ volume }) => poolName ?? volume.pool)))
    pools.set(name, await openLabPool(host, name));
  const addresses = chooseAddresses(naming, hostName, found.remaining, {
    names: found.missing,
    interfaces: interfaces.length,
    otherUuids: await readOthers(),
  });
  const plans = found.missing.map((name) => {
    const volumes = disks.flatMap((disk, index) => {
      const pool = pools.get(poolName ?? disk.volume.pool);
      return pool === undefined ? [] : [plannedCopy(pool, { machine: name, index, disk })];
    });
    const { uuid, macs } = addresses.get(name) ?? { uuid: '', macs: [] }; // The map has every name.
    const record = recordOf(host, naming, name, { uuid, volumes, clonedFrom: source.uuid });
    return { identity: { name, uuid, macs, record }, volumes };
  });
  const all = plans.flatMap(({ volumes }) => volumes);
  const taken = [...pools.values()].flatMap((pool) => takenVolumes(pool, all));
  if (taken.length > 0) throw new LabError(taken);
  return new Map(plans.map(({ identity, volumes }) => [identity.name, planned(text, identity, volumes)]));
}

/** Returns the network or the bridge of an interface; nothing for other types. */
function linkOf({ type, source }: Domain['devices']['interfaces'][number]): readonly CheckedLink[] {
  const isLink = (type === 'network' || type === 'bridge') && source !== null;
  return isLink ? [{ type, name: source, mayBeSwitch: true }] : [];
}

function planned(source: string, identity: CloneIdentity, volumes: readonly PlannedVolume[]): Planned {
  const { name, uuid, macs, record } = identity;
  return {
    blueprint: {
      name,
      volumes,
      xml: (disks, complete) => cloneXml(source, { ...identity, record: { ...record, complete } }, disks),
    },
    report: {
      name,
      uuid,
      outcome: 'created',
      macAddresses: macs,
      volumes: record.volumes,
      serialLog: record.serialLog,
      notes: [],
    },
  };
}

/**
 * Checks that the source is complete and off, and has no saved state. The disks of any other source may be incomplete,
 * or may change during the copy.
 * @throws {LabError} the first problem; {DriverError} if libvirt fails.
 */
async function checkSource({ name, machine, created }: KnownMachine, timeoutMs: number): Promise<void> {
  if (created?.complete === false) throw new LabError([`machine ${name} is incomplete: delete it, or create it again`]);
  if (await attempt(`reading the state of machine ${name}`, () => machine.domain.isActive({ timeoutMs }))) {
    throw new LabError([`machine ${name} is running: power it off, so that its disks do not change during the copy`]);
  }
  if (await hasSavedState(machine, timeoutMs)) {
    throw new LabError([
      `machine ${name} has a saved state: start it and power it off, so that its disks are complete`,
    ]);
  }
}

/** Looks up the volumes of the disks. @throws {LabError} for disks that are no volumes, or that libvirt cannot read. */
async function sourceDisks(
  { hypervisor, timeoutMs }: LabHost,
  { name }: KnownMachine,
  text: string,
): Promise<readonly SourceDisk[]> {
  const problems: string[] = [];
  const found: SourceDisk[] = [];
  for (const disk of ownDisks(new DefinitionEdit(text))) {
    try {
      const volume = await volumeOf(hypervisor, disk, timeoutMs);
      const { capacityBytes } = await volume.getInfo({ timeoutMs });
      found.push({ volume, capacityBytes, format: disk.format === 'qcow2' ? 'qcow2' : 'raw' });
    } catch (error) {
      problems.push(`disk ${disk.target} of machine ${name} cannot be copied: ${reasonOf(error)}`);
    }
  }
  if (problems.length > 0) throw new LabError(problems);
  return found;
}

/** Plans the copy of a disk. In a pool without files, the copy is raw, because such a pool has only raw volumes. */
function plannedCopy(
  { pool, hasFiles }: LabPool,
  { machine, index, disk }: { readonly machine: string; readonly index: number; readonly disk: SourceDisk },
): PlannedVolume {
  const { volume: source, capacityBytes } = disk;
  const format = hasFiles ? disk.format : 'raw';
  const name = `${diskName(machine, index)}.${format === 'qcow2' ? 'qcow2' : 'img'}`;
  const xml = element('volume', {}, [
    element('name', {}, name),
    element('capacity', { unit: 'bytes' }, capacityBytes),
    element('allocation', { unit: 'bytes' }, hasFiles ? 0 : capacityBytes),
    element('target', {}, [element('format', { type: format })]),
  ]);
  return {
    pool: pool.name,
    volume: name,
    format,
    // A large disk takes long, so a copy has no time limit.
    create: () =>
      attempt(`copying volume ${source.name} to ${name}`, () =>
        pool.storageVolCreateXmlFrom(markupLines(xml).join('\n'), source, 0, { timeoutMs: Infinity }),
      ),
  };
}
