/** Creates lab machines: the machines of `bmc-daemon machine`. */
import { attempt } from '../failure.js';
import { chooseAddresses, type Addresses } from './addresses.js';
import { buildMachine, type Blueprint } from './build.js';
import { differencesOf } from './compare.js';
import { readGuestPlatform } from './platform/guest-platform.js';
import { LabError, reasonOf } from './lab-error.js';
import { withOtherUuids, type LabHost, type ReadOtherUuids } from './lab-host.js';
import { openLabPool, plannedDisk, takenVolumes, type PlannedVolume } from './lab-pool.js';
import { serialLogOf } from './logs.js';
import { reportOf, type MachineReport, type OnReport } from './machine-report.js';
import type { GuestPlatform, MachineSpec, Naming } from './machine-spec.js';
import { machineXml, type FirmwareFiles, type DefinitionPlan } from './machine-xml.js';
import { removeIncomplete, survey, type Survey } from './naming.js';
import { checkNetworks } from './platform/networks.js';

/** Machines to create. */
export interface CreateRequest {
  readonly naming: Naming;
  readonly spec: MachineSpec;
  /** Ends the command before it creates the next machine, or while it waits for other hosts. */
  readonly signal?: AbortSignal;
  readonly onReport: OnReport;
  /** Receives advice, one sentence each. */
  readonly onAdvice: (sentence: string) => void;
}

/**
 * Creates the machines that do not exist yet, and compares the others with the spec. Reports each result. Stops
 * after a machine that cannot be created. After the signal, stops before the next machine that it would create.
 * @throws {LabError} for a problem before the first machine is created, and if another machine has a MAC address that
 *   the user requests for an existing machine.
 * @throws {DriverError} if libvirt fails during the checks or a comparison; {RangeError} if the prefix of the MAC
 *   addresses has too few addresses; {Error} AbortError, if the signal ends the wait for other hosts.
 */
export async function createMachines(host: LabHost, request: CreateRequest): Promise<void> {
  const { naming, spec, onReport } = request;
  const found = await survey(host, naming);
  const plannedMachines =
    found.missing.length === 0
      ? new Map<string, Planned>()
      : await withOtherUuids(host, request, (readOthers) => plan(host, request, found, readOthers));
  for (const name of found.names) {
    const existing = found.existing.get(name);
    if (existing !== undefined) {
      const macs = expectedMacs(naming, found, name, spec.networks.length);
      const differences = await differencesOf(host, existing, spec, macs);
      onReport(reportOf(existing, differences.length === 0 ? 'unchanged' : 'differs', differences));
      continue;
    }
    const planned = plannedMachines.get(name);
    if (planned === undefined || request.signal?.aborted === true) return;
    const report = await build(host, planned);
    onReport(report);
    if (report.outcome === 'failed') return;
  }
}

/** A machine to create, with its report. */
export interface Planned {
  readonly blueprint: Blueprint;
  readonly report: MachineReport;
}

/** Creates a machine. Never rejects: the report contains the reason of a failure. */
export async function build(host: LabHost, { blueprint, report }: Planned): Promise<MachineReport> {
  try {
    await buildMachine(host, blueprint);
    return report;
  } catch (error) {
    return {
      ...report,
      outcome: 'failed',
      uuid: null,
      macAddresses: [],
      volumes: [],
      serialLog: null,
      notes: [reasonOf(error)],
    };
  }
}

/**
 * Checks the networks and the firmware, removes incomplete machines, and plans the missing ones. Then checks that
 * their volumes do not exist, and that Secure Boot works.
 * @throws {LabError} with the problems of the first check that fails; {DriverError} if libvirt fails; {RangeError} if
 *   the prefix of the MAC addresses has too few addresses; {Error} AbortError after the signal.
 */
async function plan(
  host: LabHost,
  { naming, spec, onAdvice }: CreateRequest,
  found: Survey,
  readOthers: ReadOtherUuids,
): Promise<ReadonlyMap<string, Planned>> {
  await checkNetworks(host, spec.networks, onAdvice);
  await compareMemory(host, spec, onAdvice);
  const platform = await readGuestPlatform(host, spec);
  if (platform.isKvmBroken) {
    onAdvice('guests do not run with KVM on this host, so the new machines are emulated, which is slow');
  }
  const firmware = await firmwareFiles(host, spec, platform);
  await removeIncomplete(host, found);
  const pool = await openLabPool(host, spec.pool);
  const { missing: names, remaining } = found;
  const interfaces = spec.networks.length;
  const otherUuids = await readOthers();
  const addresses = chooseAddresses(naming, platform.hostName, remaining, { names, interfaces, otherUuids });
  const plans = names.map((name) => {
    const volumes = spec.diskBytes.map((bytes, index) => plannedDisk(pool, { machine: name, index, bytes }));
    const { uuid, macs } = addresses.get(name) ?? { uuid: '', macs: [] }; // The map has every name.
    const record = recordOf(host, naming, name, { uuid, volumes });
    return { definition: { name, uuid, spec, platform, firmware, macs, record }, volumes };
  });
  const taken = takenVolumes(
    pool,
    plans.flatMap(({ volumes }) => volumes),
  );
  if (taken.length > 0) throw new LabError(taken);
  if (spec.firmware === 'secure-boot') await checkSecureBoot(host, plans[0]?.definition);
  return new Map(plans.map(({ definition, volumes }) => [definition.name, plannedMachine(definition, volumes)]));
}

/** Returns the record that a new machine has when it is complete. `clonedFrom` is the UUID of its source. */
export function recordOf(
  host: LabHost,
  naming: Naming,
  name: string,
  { uuid, volumes, clonedFrom = null }: { uuid: string; volumes: readonly PlannedVolume[]; clonedFrom?: string | null },
) {
  return {
    uuid,
    group: naming.count === null ? null : naming.name,
    complete: true,
    volumes: volumes.map(({ pool, volume }) => ({ pool, volume })),
    serialLog: serialLogOf(host.uri, name),
    clonedFrom,
  };
}

function plannedMachine(definition: DefinitionPlan, volumes: readonly PlannedVolume[]): Planned {
  const { name, uuid, macs, record } = definition;
  const xml: Blueprint['xml'] = (disks, complete) =>
    machineXml({ ...definition, record: { ...record, complete } }, disks);
  const { volumes: places, serialLog } = record;
  return {
    blueprint: { name, volumes, xml },
    report: { name, uuid, outcome: 'created', macAddresses: macs, volumes: places, serialLog, notes: [] },
  };
}

/** Warns if a machine has more memory than the host. It may start nevertheless, because a guest rarely uses all. */
async function compareMemory(
  { hypervisor, timeoutMs }: LabHost,
  spec: MachineSpec,
  onAdvice: CreateRequest['onAdvice'],
) {
  const { memoryKiB } = await attempt('reading the memory of the host', () => hypervisor.nodeGetInfo({ timeoutMs }));
  const hostMiB = Math.floor(memoryKiB / 1024);
  if (spec.memoryMiB > hostMiB)
    onAdvice(`--memory is ${spec.memoryMiB} MiB and the host has ${hostMiB} MiB, so a machine may not start`);
}

/** Returns the addresses that an existing machine must have; null if the user has not given any. */
function expectedMacs(
  naming: Naming,
  { remaining }: Survey,
  name: string,
  interfaces: number,
): Addresses['macs'] | null {
  if (naming.macs === null && naming.macPrefix === null) return null;
  const others = remaining.filter((known) => known.name !== name);
  return chooseAddresses(naming, '', others, { names: [name], interfaces }).get(name)?.macs ?? null;
}

async function firmwareFiles(
  { firmware }: LabHost,
  spec: MachineSpec,
  { architecture }: GuestPlatform,
): Promise<FirmwareFiles> {
  return {
    choice: await firmware.bootModeFiles('efi', architecture),
    secureBoot: spec.firmware === 'secure-boot' ? await firmware.secureBootFiles(architecture, 'on', null) : null,
  };
}

async function checkSecureBoot({ firmware }: LabHost, plan: DefinitionPlan | undefined): Promise<void> {
  if (plan === undefined) return;
  const { architecture, machineType } = plan.platform;
  await firmware.checkSecureBoot({ name: plan.name, architecture, machineType }, machineXml(plan, []));
}
