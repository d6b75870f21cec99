/** The hosts for the contract suites: machines in memory, and QEMU guests of a private libvirtd. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import type { BootChoice } from '../../src/drivers/rules/boot-override.js';
import type { BootDevice } from '../../src/drivers/snapshot/firmware-snapshot.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { sampleMachines } from '../../src/drivers/fake/sample-machines.js';
import { createLibvirtDriver } from '../../src/drivers/libvirt/libvirt-driver.js';
import { imageLimits } from '../support/image-limits.js';

/** The machine under test. */
export interface BackendMachine {
  readonly uuid: string;
  readonly name: string;
  readonly mac: string;
  readonly diskBytes: number;
}

/** A host in its initial state, for one test. */
export interface PreparedHost {
  /** The driver is not started. The test starts and closes the driver. */
  readonly driver: HypervisorDriver;
  readonly machine: BackendMachine;
  /** UUIDs of all machines of the host, in any order. */
  readonly uuids: readonly string[];
  /** Returns the boot device of the last start; undefined if the machine is off. */
  startedFrom(): Promise<BootChoice | undefined>;
  /** Removes the machines, if they are not only in memory. The caller has closed the driver. */
  dispose(): Promise<void>;
}

/** A kind of host on which each contract suite runs. */
export interface Backend {
  /** A name for the titles of the suites, such as `a fake host`. */
  readonly name: string;
  open(): Promise<void>;
  prepare(): Promise<PreparedHost>;
  close(): Promise<void>;
}

const fake: Backend = {
  name: 'a fake host',
  open: () => Promise.resolve(),
  close: () => Promise.resolve(),
  prepare: () => {
    const machines = sampleMachines(2);
    const [machine] = machines;
    const [nic] = machine?.interfaces ?? [];
    const capacity = machine?.disks[0]?.capacityBytes;
    if (machine === undefined || nic === undefined || typeof capacity !== 'number') {
      throw new Error('the first sample machine is expected to have a disk and an interface');
    }
    const driver = new FakeDriver({ machines });
    return Promise.resolve({
      driver,
      machine: { uuid: machine.uuid, name: machine.name, mac: nic.mac, diskBytes: capacity },
      uuids: machines.map(({ uuid }) => uuid),
      startedFrom: () => Promise.resolve(driver.bootedFrom(machine.uuid)),
      dispose: () => Promise.resolve(),
    });
  },
};

const diskBytes = 1024 ** 2;
const qemuMachine: BackendMachine = {
  uuid: '4d1c0f5e-7a43-4a53-9d57-a0c0ffee0001',
  name: 'spec-1',
  mac: '52:54:00:5e:ec:01',
  diskBytes,
};
const qemuNeighbour: BackendMachine = {
  uuid: 'b2a9e1d0-03f6-4b0c-8b0f-a0c0ffee0002',
  name: 'spec-2',
  mac: '52:54:00:5e:ec:02',
  diskBytes,
};

/** Returns a machine with OVMF. Its disk is empty, so the guest ends in the menu of its firmware. */
function domainXml({ uuid, name, mac }: BackendMachine, disk: string): string {
  return `<domain type='qemu'>
  <name>${name}</name>
  <uuid>${uuid}</uuid>
  <memory unit='GiB'>2</memory>
  <vcpu>2</vcpu>
  <cpu><topology sockets='1' cores='2' threads='1'/></cpu>
  <os firmware='efi'>
    <type arch='x86_64' machine='q35'>hvm</type>
    <firmware><feature enabled='no' name='secure-boot'/></firmware><loader stateless='no'/>
    <boot dev='hd'/>
  </os>
  <features><acpi/></features>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/><source file='${disk}'/><target dev='vda' bus='virtio'/>
    </disk>
    <disk type='file' device='cdrom'>
      <driver name='qemu' type='raw'/><target dev='sda' bus='sata'/><readonly/>
    </disk>
    <interface type='user'><mac address='${mac}'/><model type='virtio'/></interface>
    <memballoon model='none'/>
  </devices>
</domain>`;
}

class QemuBackend implements Backend {
  readonly name = 'a QEMU host';
  #libvirtd: PrivateLibvirtd | undefined;

  async open(): Promise<void> {
    this.#libvirtd = await startLibvirtd({ driver: 'qemu' });
    for (const machine of [qemuMachine, qemuNeighbour]) {
      await writeFile(this.#file(`${machine.name}.img`), Buffer.alloc(machine.diskBytes));
      await writeFile(this.#file(`${machine.name}.xml`), domainXml(machine, this.#file(`${machine.name}.img`)));
    }
  }

  async close(): Promise<void> {
    await this.#libvirtd?.stop();
  }

  async prepare(): Promise<PreparedHost> {
    const machines = [qemuMachine, qemuNeighbour];
    await this.#virsh(...machines.map(({ name }) => `define ${this.#file(`${name}.xml`)}`));
    const host: PreparedHost = {
      driver: createLibvirtDriver({
        uri: this.#host.uri,
        bootLoaderMap: {},
        storagePool: null,
        gracefulRestartWaitMs: 5000,
        timeoutMs: 30_000,
        diskSizeWaitMs: 30_000,
        images: { ...imageLimits, maxBytes: 1024 ** 3 },
        log: { info: () => undefined, warn: () => undefined, debug: () => undefined },
      }),
      machine: qemuMachine,
      uuids: machines.map(({ uuid }) => uuid),
      startedFrom: () => this.#startedFrom(qemuMachine),
      dispose: async () => {
        const active = await this.#virsh('list --name');
        await this.#virsh(
          ...machines.flatMap(({ name }) => [
            ...(active.includes(name) ? [`destroy ${name}`] : []),
            `undefine --nvram ${name}`,
          ]),
        );
      },
    };
    return host;
  }

  get #host(): PrivateLibvirtd {
    if (this.#libvirtd === undefined) throw new Error('using the host before it is open');
    return this.#libvirtd;
  }

  #file(name: string): string {
    return join(this.#host.dir, 'tmp', name);
  }

  /** Runs several virsh commands in one process, and returns their output. */
  async #virsh(...commands: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)('virsh', ['-q', '-c', this.#host.uri, commands.join('; ')]);
    return stdout;
  }

  /**
   * Returns the device with the lowest boot index on the command line, which the firmware got at
   * power-on; undefined if the machine is off.
   * @throws {Error} if the command line has none.
   */
  async #startedFrom({ name }: BackendMachine): Promise<BootDevice | undefined> {
    if (!(await this.#virsh('list --name')).includes(name)) return undefined;
    const pid = await this.#host.guestPid(name);
    const devices = (await readFile(`/proc/${pid}/cmdline`, 'utf8'))
      .split('\0')
      .map((argument) => ({ argument, index: Number(/"bootindex":(\d+)/.exec(argument)?.[1] ?? Number.NaN) }))
      .filter(({ index }) => !Number.isNaN(index))
      .toSorted((left, right) => left.index - right.index);
    const first = devices[0]?.argument ?? '';
    if (first.includes('"driver":"ide-cd"')) return 'cdrom';
    if (first.includes('"driver":"virtio-blk-pci"')) return 'hd';
    if (first.includes('"driver":"virtio-net-pci"')) return 'network';
    throw new Error(`looking for the boot device of ${name}: none on its command line`);
  }
}

/** Returns all kinds of hosts on which the suites run. */
export function backends(): readonly Backend[] {
  return [fake, new QemuBackend()];
}
