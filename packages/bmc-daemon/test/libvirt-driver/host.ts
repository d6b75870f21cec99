/** Runs a private libvirtd with drivers and tiny guests, for one test file. */
import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { Hypervisor } from '@rackless/libvirt';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import type { BootTarget } from '../../src/drivers/snapshot/boot-snapshot.js';
import type { DomainState } from '../../src/drivers/snapshot/system-snapshot.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import type { Host } from '../../src/drivers/libvirt/machine/host.js';
import { Inventory } from '../../src/drivers/libvirt/machine/inventory.js';
import { localFiles } from '../../src/drivers/libvirt/host-files.js';
import { createLibvirtDriver, type LibvirtDriverOptions } from '../../src/drivers/libvirt/libvirt-driver.js';
import { MachineQueue } from '../../src/drivers/queue/machine-queue.js';
import { bootableDisk, bootableIso, SerialLine, type ProgramOptions } from '../support/tiny-guest.js';
import { imageLimits } from '../support/image-limits.js';

/** Options of a guest. */
export interface GuestOptions extends Partial<Pick<ProgramOptions, 'ignoresPowerButton' | 'panics'>> {
  /** The machine type, such as `pc`. Default `q35`. */
  readonly machine?: string;
  /** Markup of the CD drive; default: an empty SATA drive, `sda`; '': no drive. */
  readonly cdrom?: string;
  /** Further markup in `<os>`. */
  readonly os?: string;
  /** Further markup in `<devices>`. */
  readonly devices?: string;
  /** A file to copy for the guest's disk; default: a disk with a small program. */
  readonly disk?: string;
  /** Default 16, which is too little for UEFI. */
  readonly memoryMiB?: number;
  /** Markup in the `<disk>` of the guest's disk; default `<boot order='1'/>`. */
  readonly diskBoot?: string;
}

/** A defined guest, the peer of its serial line, and the XML that defined it. */
export interface Guest {
  readonly name: string;
  readonly uuid: string;
  readonly serial: SerialLine;
  readonly xml: string;
}

/** An empty CD drive on SATA, `sda`. */
export const emptyCdDrive =
  `<disk type='file' device='cdrom'><driver name='qemu' type='raw'/>` +
  `<target dev='sda' bus='sata'/><readonly/></disk>`;

/** An empty CD drive for machines of type `pc`. */
export const emptyIdeDrive = emptyCdDrive.replace(`dev='sda' bus='sata'`, `dev='hda' bus='ide'`);

let guests = 0;

/**
 * A private libvirtd with its guests and drivers. `messages` has the texts that its drivers have logged at
 * the levels info and warn.
 */
export class TestHost {
  readonly messages: string[] = [];
  readonly #serials: SerialLine[] = [];
  readonly #servers: Server[] = [];
  readonly #drivers: CompleteDriver[] = [];
  readonly #hypervisors: Hypervisor[] = [];

  private constructor(readonly libvirtd: PrivateLibvirtd) {}

  static async start(driver: 'qemu' | 'test' = 'qemu'): Promise<TestHost> {
    return new TestHost(await startLibvirtd({ driver }));
  }

  async stop(): Promise<void> {
    for (const driver of this.#drivers.splice(0)) await driver.close();
    for (const hypervisor of this.#hypervisors.splice(0)) await hypervisor.close();
    for (const server of this.#servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    await this.libvirtd.stop();
    for (const serial of this.#serials.splice(0)) await serial.close();
  }

  /** Starts a driver and waits until it is connected. `stop()` closes the driver. */
  async driver(options: Partial<LibvirtDriverOptions> = {}): Promise<CompleteDriver> {
    const note = (message: string, fields?: Readonly<Record<string, unknown>>): void => {
      this.messages.push(fields === undefined ? message : `${message} ${String(fields['error'])}`);
    };
    const driver = createLibvirtDriver({
      uri: this.libvirtd.uri,
      bootLoaderMap: {},
      storagePool: null,
      gracefulRestartWaitMs: 60_000,
      timeoutMs: 30_000,
      diskSizeWaitMs: 30_000,
      images: imageLimits,
      log: { info: note, warn: note, debug: () => undefined },
      ...options,
    });
    this.#drivers.push(driver);
    await driver.start();
    await until('the driver to connect', async () => driver.ping().then(() => true));
    return driver;
  }

  /**
   * Returns the parts that the components of a driver share, but no driver, for tests that act between two
   * steps. `stop()` closes them. The inventory lists machines only once, so a test can replace a method of a
   * `domain` permanently.
   */
  parts(): Host {
    const timeoutMs = 30_000;
    const hypervisor = Hypervisor.connect(this.libvirtd.uri, { callTimeoutMs: timeoutMs });
    this.#hypervisors.push(hypervisor);
    const log = { info: () => undefined, warn: () => undefined, debug: () => undefined };
    const inventory = new Inventory(hypervisor, timeoutMs);
    return { hypervisor, inventory, queue: new MachineQueue(), log, timeoutMs, files: localFiles };
  }

  file(name: string): string {
    return join(this.libvirtd.dir, 'tmp', name);
  }

  async virsh(...words: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)('virsh', ['--quiet', '--connect', this.libvirtd.uri, ...words], {
      timeout: 240_000,
    });
    return stdout;
  }

  /** Defines a guest and does not start it. By default, its disk has a program that prints `boot disk`. */
  async guest(options: GuestOptions = {}): Promise<Guest> {
    guests += 1;
    const number = String(guests).padStart(2, '0');
    const name = `guest-${number}`;
    const uuid = `00000000-0000-4000-8000-0000000000${number}`;
    const serial = await SerialLine.listen();
    this.#serials.push(serial);
    const disk = this.file(`${name}.img`);
    if (options.disk === undefined) await writeFile(disk, bootableDisk({ label: 'disk', ...options }));
    else await copyFile(options.disk, disk);
    const xml = `<domain type='qemu'>
  <name>${name}</name>
  <uuid>${uuid}</uuid>
  <memory unit='MiB'>${options.memoryMiB ?? 16}</memory>
  <os><type arch='x86_64' machine='${options.machine ?? 'q35'}'>hvm</type>${options.os ?? ''}</os>
  <features><acpi/></features>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='${disk}'/>
      <target dev='vda' bus='virtio'/>
      ${options.diskBoot ?? `<boot order='1'/>`}
    </disk>
    ${options.cdrom ?? emptyCdDrive}
    <serial type='tcp'><source mode='connect' host='127.0.0.1' service='${serial.port}'/></serial>
    <memballoon model='none'/>
    ${options.devices ?? ''}
  </devices>
</domain>`;
    await writeFile(this.file(`${name}.xml`), xml);
    await this.virsh('define', this.file(`${name}.xml`));
    return { name, uuid, serial, xml };
  }

  /** Returns the XML of a CD drive with a bootable image that the user inserted. */
  async drive(label: string): Promise<string> {
    const path = this.file(`${label}.iso`);
    await writeFile(path, bootableIso({ label }));
    return emptyCdDrive.replace('<target', `<source file='${path}'/><target`);
  }

  /** Returns the persistent definition, with passwords. */
  async inactiveXml({ name }: Guest): Promise<string> {
    return await this.virsh('dumpxml', '--inactive', '--security-info', name);
  }

  /**
   * Returns the persistent definition without `<metadata>`, which has only the daemon's metadata in these
   * guests.
   */
  async definitionOf(guest: Guest): Promise<string> {
    return (await this.inactiveXml(guest)).replace(/\s*<metadata(\/>|>[\s\S]*<\/metadata>)/, '');
  }

  /** Serves one bootable image, by default an ISO image, and records the methods of the requests for it. */
  async serveImage(
    label: string,
    image = bootableIso({ label }),
  ): Promise<{ readonly url: URL; readonly requests: readonly string[] }> {
    const requests: string[] = [];
    const url = await this.serve((request, response) => {
      requests.push(request.method ?? '');
      response.writeHead(200, { 'content-length': image.length, etag: `"${label}"` });
      response.end(request.method === 'HEAD' ? undefined : image);
    });
    return { url, requests };
  }

  /**
   * Serves over HTTP until the host is stopped.
   * @returns the URL of `/image.iso`.
   */
  async serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<URL> {
    const server = createServer(handler);
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/image.iso`);
  }
}

/**
 * Makes the guest read its IDE drive until it prints `what`. Reads repeatedly, because the first read after a
 * change of the medium fails: it only reports the change.
 * @throws {Error} after two minutes.
 */
export async function guestFinds({ serial }: Guest, what: string): Promise<void> {
  await until(`the guest to find ${what}`, async () => {
    const before = serial.events.length;
    serial.send('c');
    return (await serial.reaches(before + 1)).at(-1) === what;
  });
}

/**
 * Calls `probe` until it resolves with `true`.
 * @throws {Error} after `timeoutMs`, with the last error of `probe` as its cause.
 */
export async function until(what: string, probe: () => Promise<unknown>, timeoutMs = 120_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      if ((await probe()) === true) return;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`waiting for ${what}: nothing after ${timeoutMs} ms`, { cause: last });
    await sleep(25);
  }
}

/** Waits until the driver shows a guest in the given state. @throws {Error} after two minutes. */
export async function reaches(driver: CompleteDriver, { uuid }: Guest, state: DomainState): Promise<void> {
  await until(`${uuid} to be ${state}`, async () => (await driver.getSystem(uuid)).state === state);
}

/**
 * Boots a machine once from a device, and then resets it. Expects that the machine boots from its disk at the
 * reset. Then switches the machine off.
 * @param line the line that the program on the device prints.
 */
export async function expectBootOnce(
  driver: CompleteDriver,
  { uuid, serial }: Guest,
  target: BootTarget,
  line: string,
): Promise<void> {
  await driver.change(uuid, { boot: { enabled: 'once', target } });
  await driver.power(uuid, 'create');
  expect(await serial.reaches(2)).toEqual(['<power on>', line]);
  await driver.power(uuid, 'reset');
  expect((await serial.reaches(3)).at(-1)).toBe('boot disk');
  await driver.power(uuid, 'destroy');
}
