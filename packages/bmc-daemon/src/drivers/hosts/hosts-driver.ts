/** One driver for the machines of several hosts. */
import { byMachine, type OnMachine } from '../by-machine.js';
import { DriverError } from '../driver-error.js';
import type { HypervisorDriver } from '../driver.js';
import type { HostRef } from '../hosts-control.js';
import { everyAction } from '../power.js';
import { everyPart } from '../system-change.js';
import type { HostMember } from './host-member.js';
import { Hosts, type HostsOptions } from './hosts.js';

/** A driver for several hosts. The list of hosts can change. */
export interface HostsDriver {
  readonly driver: HypervisorDriver;
  /**
   * Replaces the hosts. A host with the same name and URI keeps its driver, its connections and its
   * downloads. Resolves when the drivers of removed hosts are closed and those of added hosts are started. Rejects
   * if a start or a close fails.
   */
  readonly setHosts: (hosts: readonly HostRef[]) => Promise<void>;
}

/** Creates a driver for several hosts. */
export function createHostsDriver(options: HostsOptions): HostsDriver {
  const hosts = new Hosts(options);
  const on =
    <Group>(label: string, select: (driver: HypervisorDriver) => Group | undefined): OnMachine<Group> =>
    (id, call) =>
      hosts.onHost(id, (member, uuid) => call(partOf(member, label, select), uuid));
  /**
   * Runs a call that writes the definition. Checks before and after the call that the machine does not
   * migrate, because a migration may begin while the call waits.
   * @throws as {@link Hosts.onHost}; {DriverError} unavailable, if the machine migrates.
   */
  const onStaying: OnMachine<HostMember> = (id, call) =>
    hosts.onHost(id, async (member, uuid) => {
      assertStays(member, uuid, hosts.migrationTarget(uuid));
      const result = await call(member, uuid);
      assertStays(member, uuid, hosts.migrationTarget(uuid));
      return result;
    });
  const onWritable =
    <Group>(label: string, select: (driver: HypervisorDriver) => Group | undefined): OnMachine<Group> =>
    (id, call) =>
      onStaying(id, (member, uuid) => call(partOf(member, label, select), uuid));
  const driver = byMachine<HypervisorDriver>(
    on('machines', (each) => each),
    {
      get name() {
        return hosts.name;
      },
      start: () => hosts.start(),
      close: () => hosts.close(),
      ping: () => hosts.ping(),
      onChange: (listener) => hosts.changes.onChange(listener),
      listSystems: () => hosts.list(),
      getSystem: (id, shown) => hosts.read(id, shown),
      powerActions: everyAction,
      changeable: everyPart,
      change: (id, change, { basis, ...rest } = {}) => {
        const original = basis === undefined ? {} : { basis: hosts.shown.originalOf(basis) };
        return onStaying(id, (member, uuid) => member.driver.change(uuid, change, { ...rest, ...original }));
      },
      media: byMachine(
        onWritable('virtual media', (each) => each.media),
        {},
      ),
      console: byMachine(
        on('serial consoles', (each) => each.console),
        {
          // The id contains the name of the host, because two hosts can give the same id to two QEMU processes.
          instance: (id) =>
            hosts.onHost(id, async (member, uuid) => {
              const consoles = partOf(member, 'serial consoles', (each) => each.console);
              return `${member.name} ${await consoles.instance(uuid)}`;
            }),
          acceptsSecondClient: undefined,
        },
      ),
      graphicalConsole: undefined,
      display: byMachine(
        on('displays', (each) => each.display),
        {},
      ),
      guestNetwork: { facts: (id) => hosts.facts(id) },
      volumes: byMachine(
        onWritable('storage pools', (each) => each.volumes),
        {},
      ),
      hosts: hosts.control,
      logs: undefined,
      statistics: { all: () => hosts.statistics() },
      isListIncomplete: () => hosts.isListIncomplete,
    },
  );
  return { driver, setHosts: (next) => hosts.setHosts(next) };
}

/**
 * Rejects a change of a machine that migrates to another host. libvirt sends the definition to the new host
 * at the beginning of the migration. So a later change of the definition on the old host would be lost.
 * @throws {DriverError} unavailable, so that the client retries after the migration.
 */
function assertStays(member: HostMember, uuid: string, target: HostMember | undefined): void {
  if (target === undefined || target === member) return;
  const name = member.known.refs.get(uuid)?.name ?? uuid;
  throw new DriverError(
    'unavailable',
    `changing machine ${name}: it migrates from host ${member.name} to host ${target.name}`,
  );
}

/**
 * Returns a part of a host's driver.
 * @param label the name of the part for the error.
 * @throws {DriverError} unsupported, if the driver does not have the part.
 */
function partOf<Group>(
  { name, driver }: HostMember,
  label: string,
  select: (driver: HypervisorDriver) => Group | undefined,
): Group {
  const part = select(driver);
  if (part === undefined) throw new DriverError('unsupported', `host ${name} has no ${label}`);
  return part;
}
