/** Starts private libvirtds behind one driver, for one suite. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Hypervisor } from '@rackless/libvirt';
import { startNetworkLibvirtd, type NetworkLibvirtd } from '../../../libvirt/test/harness/network-libvirtd.js';
import { startRelay, type Relay } from '../../../libvirt/test/harness/relay.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import type { HostStore } from '../../src/drivers/hosts/host-store.js';
import { createHostsDriver, type HostsDriver } from '../../src/drivers/hosts/hosts-driver.js';
import { createLibvirtDriver } from '../../src/drivers/libvirt/libvirt-driver.js';
import { SharedPools } from '../../src/drivers/libvirt/media/shared-pools.js';
import type { MachineChange } from '../../src/drivers/machine-change.js';
import { BackgroundWork } from '../../src/drivers/queue/background-work.js';
import { imageLimits } from '../support/image-limits.js';
import { until } from '../libvirt-driver/host.js';

export { until } from '../libvirt-driver/host.js';

/** A store of the hosts of machines that stores nothing. */
export const noStore: HostStore = {
  machinesOf: () => undefined,
  add: () => undefined,
  scheduleWrite: () => undefined,
  close: () => undefined,
};

/** A host with its own libvirtd, behind a relay. */
export class LabHost {
  private constructor(
    readonly name: string,
    readonly type: 'test' | 'qemu',
    readonly libvirtd: NetworkLibvirtd,
    readonly relay: Relay,
    private readonly bin: string,
    private readonly holder: Hypervisor,
  ) {}

  static async start(name: string, type: 'test' | 'qemu' = 'test'): Promise<LabHost> {
    const bin = await mkdtemp(join(tmpdir(), 'rackless-bin-'));
    // libvirt rejects a migration between two hosts with the same name or UUID.
    const program = `#!/bin/sh
exec unshare --uts sh -c 'hostname ${name}; exec /usr/sbin/libvirtd "$@"' libvirtd "$@"
`;
    await writeFile(join(bin, 'libvirtd'), program, { mode: 0o755 });
    const libvirtd = await startNetworkLibvirtd({
      driver: type,
      libvirtdConf: [`host_uuid = "${randomUUID()}"`],
      env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` },
    });
    // libvirt's test driver loses its machines with the last connection, so this connection stays open.
    const holder = await Hypervisor.open(libvirtd.daemon.uri);
    return new LabHost(name, type, libvirtd, await startRelay(libvirtd.tcpPort), bin, holder);
  }

  /** Connection URI of the relay. */
  get uri(): string {
    return `${this.type}+tcp://127.0.0.1:${this.relay.port}/${this.type === 'test' ? 'default' : 'system'}`;
  }

  async stop(): Promise<void> {
    await this.relay.stop();
    await this.holder.close();
    await this.libvirtd.stop();
    await rm(this.bin, { recursive: true });
  }

  /** Runs virsh without the relay. */
  async virsh(...words: readonly string[]): Promise<string> {
    const { uri } = this.libvirtd.daemon;
    const { stdout } = await promisify(execFile)('virsh', ['--quiet', '--connect', uri, ...words], {
      timeout: 240_000,
    });
    return stdout;
  }

  /**
   * Removes the machine that libvirt's test driver has at its start. This machine has the same UUID on
   * all hosts.
   */
  async removeDefaultMachine(): Promise<void> {
    await this.virsh('destroy', 'test');
    await this.virsh('undefine', 'test');
  }

  /** Defines a machine with an empty CD drive and without a disk. */
  async define(machine: { readonly uuid: string; readonly name: string; readonly title?: string }): Promise<void> {
    const file = join(this.libvirtd.daemon.dir, 'tmp', `${machine.uuid}.xml`);
    await writeFile(file, machineXml(this.type, machine));
    await this.virsh('define', file);
  }
}

/** Returns the definition of a machine with an empty CD drive and without a disk. */
export function machineXml(
  type: 'test' | 'qemu',
  { uuid, name, title = name }: { readonly uuid: string; readonly name: string; readonly title?: string },
): string {
  return `<domain type='${type}'><name>${name}</name><uuid>${uuid}</uuid><title>${title}</title>
  <memory unit='MiB'>16</memory><os><type arch='x86_64'>hvm</type></os>
  <devices><disk type='file' device='cdrom'><target dev='sda' bus='sata'/><readonly/></disk></devices></domain>`;
}

/** Returns the UUID with the given number. */
export const uuidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** A started driver with its log and its changes. */
export interface LabDriver extends HostsDriver {
  readonly driver: HypervisorDriver;
  readonly messages: string[];
  readonly changes: MachineChange[];
}

interface LabOptions {
  readonly store?: HostStore;
  readonly wait?: boolean;
  readonly timeoutMs?: number;
  readonly storagePool?: string;
  /** Called with the new driver of a host. A test may replace methods of the driver. */
  readonly opened?: (driver: HypervisorDriver, name: string) => void;
}

/**
 * Starts a driver for the given hosts, and waits until all answer unless `wait` is false. The
 * caller closes it.
 */
export async function startHosts(
  hosts: readonly Pick<LabHost, 'name' | 'uri'>[],
  options: LabOptions = {},
): Promise<LabDriver> {
  const { store = noStore, wait = true, timeoutMs = 30_000, storagePool = null, opened: onOpened } = options;
  const pools = new SharedPools();
  const messages: string[] = [];
  const note = (message: string): void => void messages.push(message);
  const log = { info: note, warn: note, debug: () => undefined };
  const backgroundWork = new BackgroundWork();
  const opened = createHostsDriver({
    hosts: hosts.map(({ name, uri }) => ({ name, uri })),
    open: ({ name, uri }) => {
      const driver = createLibvirtDriver({
        uri,
        hostName: name,
        bootLoaderMap: {},
        storagePool,
        pools,
        backgroundWork,
        gracefulRestartWaitMs: 60_000,
        timeoutMs,
        diskSizeWaitMs: timeoutMs,
        images: imageLimits,
        log,
      });
      onOpened?.(driver, name);
      return driver;
    },
    store,
    backgroundWork,
    log,
  });
  const { driver } = opened;
  const changes: MachineChange[] = [];
  driver.onChange((change) => changes.push(change));
  await driver.start();
  if (wait)
    await until('all hosts to be listed', async () => (await driver.listSystems(), !driver.isListIncomplete?.()));
  return { ...opened, messages, changes };
}
