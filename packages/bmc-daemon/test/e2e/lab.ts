/**
 * A lab with nothing of ours left out and nothing faked: QEMU guests on a libvirtd, bmc-daemon in a process of its own with a
 * configuration file, an image server, and a client that speaks plain HTTP. What a guest boots is what it says on its serial line.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { DaemonProcess } from '../daemon/process.js';
import { copyGuestImage } from '../harness/guest-image.js';
import { guestMachineXml, type GuestMachine } from '../harness/guest-machine.js';
import { SerialLine } from '../harness/serial-line.js';
import { Bmc, Machine } from './bmc.js';
import { ImageServer } from './image-server.js';

/** OVMF takes 3 s where nothing accelerates it, on a busy machine many times that. */
const BOOT_MS = 180_000;

/** What a busy machine needs, where a test does not set it. */
const PATIENT = ['EMULATOR_LIBVIRT_TIMEOUT_SECONDS = 30', 'EMULATOR_TASK_AFTER_SECONDS = 60'];

/** Where a daemon keeps images that is not told where. */
const POOL = 'rackless-images';

export interface LabOptions {
  /** Lines of the configuration file, beside those that every daemon here has: `EMULATOR_DISABLE_POWER_OFF = True`. */
  readonly settings?: readonly string[];
}

export interface GuestOptions {
  /** `bios` comes with an i440FX and an IDE drive, `efi` with a Q35 and a SATA one. Default `bios`. */
  readonly firmware?: GuestMachine['firmware'];
  /** What its disk boots. Default `grub`. */
  readonly system?: 'grub' | 'linux';
  /** Whether it has a CD drive, an empty one. Default true. */
  readonly drive?: boolean;
  /** Whether it has a network interface, which leads nowhere. Default false. */
  readonly network?: boolean;
}

/** A boot, a medium or a pressed button, and the kernel's word for an NMI, cut to what its versions agree on. */
const TELLING = /RACKLESS-.*\n|NMI received/;
const BOOT = /RACKLESS-(DISK|ISO) .*\n/;

/** A machine as its owner sees it: over Redfish, and in front of its serial console. */
export class Guest extends Machine {
  /** How much had been said when something was typed last. */
  #typedAt = -1;

  constructor(
    readonly name: string,
    uuid: string,
    private readonly serial: SerialLine,
    private readonly lab: Lab,
  ) {
    super(uuid, () => lab.bmc);
  }

  /** What the guest has told so far, in order: one for each boot. */
  story(): readonly string[] {
    return Array.from(this.serial.said.matchAll(new RegExp(TELLING, 'g')), ([told]) => told.trim());
  }

  /** Returns the next boot, medium, button or NMI that the guest reports, including unexpected boots. */
  async tells(timeoutMs = BOOT_MS): Promise<string> {
    return (await this.serial.says(TELLING, timeoutMs)).trim();
  }

  /** What it boots next. */
  async boots(): Promise<string> {
    return (await this.serial.says(BOOT, BOOT_MS)).trim();
  }

  /** Waits until it says this, whatever else it says before. */
  async says(text: string): Promise<void> {
    await this.serial.says(new RegExp(`${text}\\b`), BOOT_MS);
  }

  /** Types a command, at a prompt that is there or at the next one. What it said before is still to be told. */
  async type(command: string): Promise<void> {
    const prompted = (): boolean => {
      const { said } = this.serial;
      const prompt = Math.max(said.lastIndexOf('grub> '), said.lastIndexOf('rackless# '));
      return prompt > Math.max(this.#typedAt, said.lastIndexOf('RACKLESS-DISK'), said.lastIndexOf('RACKLESS-ISO'));
    };
    await becomes(() => Promise.resolve(prompted()), true, BOOT_MS);
    this.#typedAt = this.serial.said.length;
    this.serial.type(command);
  }

  /** The persistent definition, passwords included, without the metadata: these guests have none but the daemon's. */
  async definition(): Promise<string> {
    const xml = await this.lab.virsh('dumpxml', '--inactive', '--security-info', this.name);
    return xml.replace(/\s*<metadata(\/>|>[\s\S]*<\/metadata>)/, '');
  }

  /** libvirt's word for its state: `running`, `shut off`. */
  async state(): Promise<string> {
    return (await this.lab.virsh('domstate', this.name)).trim();
  }

  /** Process id of its QEMU. */
  async process(): Promise<number> {
    return await this.lab.libvirtd.guestPid(this.name);
  }
}

export class Lab {
  readonly #serials: SerialLine[] = [];
  readonly #daemons: DaemonProcess[] = [];
  #bmc: Bmc | undefined;
  #guests = 0;

  private constructor(
    readonly libvirtd: PrivateLibvirtd,
    readonly images: ImageServer,
  ) {}

  /** Starts all of it. */
  static async start({ settings = [] }: LabOptions = {}): Promise<Lab> {
    const lab = new Lab(await startLibvirtd({ driver: 'qemu' }), await ImageServer.start());
    await writeFile(
      lab.#file('bmc-daemon.conf'),
      [
        `EMULATOR_LISTEN_IP = '127.0.0.1'`,
        `EMULATOR_LISTEN_PORT = 0`,
        `EMULATOR_LIBVIRT_URI = '${lab.libvirtd.uri}'`,
        `EMULATOR_STATE_DIR = 'state'`,
        `EMULATOR_LOG_LEVEL = 'debug'`,
        ...PATIENT.filter((line) => !settings.some((other) => nameOf(other) === nameOf(line))),
        ...settings,
        '',
      ].join('\n'),
    );
    await lab.startDaemon();
    return lab;
  }

  /** Ends all of it, as a last step without asking. */
  async stop(): Promise<void> {
    await Promise.all(this.#daemons.splice(0).map((daemon) => daemon.dispose()));
    await this.images.stop();
    await this.libvirtd.stop();
    await Promise.all(this.#serials.splice(0).map((serial) => serial.close()));
  }

  /** The service of the daemon that was started last. */
  get bmc(): Bmc {
    if (this.#bmc === undefined) throw new Error('using a daemon that was never started');
    return this.#bmc;
  }

  get daemon(): DaemonProcess {
    const daemon = this.#daemons.at(-1);
    if (daemon === undefined) throw new Error('there is no daemon');
    return daemon;
  }

  /** Starts a daemon and waits until it serves. */
  async startDaemon(): Promise<void> {
    const daemon = new DaemonProcess(['--config', this.#file('bmc-daemon.conf')]);
    this.#daemons.push(daemon);
    this.#bmc = new Bmc(await daemon.address());
    // A setting by another name is a warning only, and a test of the default.
    const unknown = daemon.messages('warn').filter((message) => message.includes('is not a setting'));
    if (unknown.length > 0) throw new Error(unknown.join('\n'));
  }

  /** Ends the daemon in the middle of whatever it does. */
  async killDaemon(): Promise<void> {
    await this.daemon.dispose();
  }

  /** Defines a guest, which is off. */
  async guest({
    firmware = 'bios',
    system = 'grub',
    drive = true,
    network = false,
  }: GuestOptions = {}): Promise<Guest> {
    this.#guests += 1;
    const number = String(this.#guests).padStart(4, '0');
    const name = `e2e-${number}`;
    const uuid = `e2e00000-0000-4000-8000-00000000${number}`;
    const serial = await SerialLine.listen();
    this.#serials.push(serial);
    const disk = await copyGuestImage({ kind: 'disk', system, label: 'DISK' }, this.#file(`${name}.img`));
    const machine = firmware === 'efi' ? 'q35' : 'pc';
    const cdrom = drive ? { cdrom: null } : {};
    const xml = guestMachineXml({ name, uuid, firmware, machine, disk, serial, network, ...cdrom });
    await writeFile(this.#file(`${name}.xml`), xml);
    await this.virsh('define', '--validate', this.#file(`${name}.xml`));
    return new Guest(name, uuid, serial, this);
  }

  /** Names of the images that the daemon keeps on the host, parts of images included. */
  async volumes(): Promise<readonly string[]> {
    const pools = await this.virsh('pool-list', '--name');
    if (!words(pools).includes(POOL)) return [];
    await this.virsh('pool-refresh', POOL);
    // Name and path, a line for each.
    return words(await this.virsh('vol-list', POOL)).filter((_word, index) => index % 2 === 0);
  }

  /** What virsh prints. */
  async virsh(...words: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)('virsh', ['--quiet', '--connect', this.libvirtd.uri, ...words], {
      timeout: 240_000,
    });
    return stdout;
  }

  #file(name: string): string {
    return join(this.libvirtd.dir, 'tmp', name);
  }
}

/** `EMULATOR_STATE_DIR` of `EMULATOR_STATE_DIR = 'state'`. */
function nameOf(line: string): string | undefined {
  return words(line)[0];
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** Asks until the answer is this one. @throws {Error} with the last answer after `timeoutMs`. */
export async function becomes<T>(ask: () => Promise<T>, expected: T, timeoutMs = 120_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (JSON.stringify(answer) === JSON.stringify(expected)) return;
    if (Date.now() > deadline) {
      throw new Error(`waiting for ${JSON.stringify(expected)}: after ${timeoutMs} ms it is ${JSON.stringify(answer)}`);
    }
    await sleep(50);
  }
}
