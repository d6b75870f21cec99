/**
 * A complete lab without simulated parts: QEMU guests on a libvirtd, the bmc-daemon process with a
 * configuration file, an image server, and a plain HTTP client. Guests report on their serial line
 * what they boot.
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

/** The time limit of a boot. OVMF takes 3 s without acceleration, and many times that on a busy host. */
const BOOT_MS = 180_000;

/** Default settings for a busy host. */
const PATIENT = ['EMULATOR_LIBVIRT_TIMEOUT_SECONDS = 30', 'EMULATOR_TASK_AFTER_SECONDS = 60'];

/** The daemon's default pool for images. */
const POOL = 'rackless-images';

/** Options of a lab. */
export interface LabOptions {
  /**
   * Lines of the configuration file, such as `EMULATOR_DISABLE_POWER_OFF = True`, in addition to
   * those of every lab. They replace the defaults of `PATIENT` for the same setting.
   */
  readonly settings?: readonly string[];
}

/** The hardware and the program of a guest. */
export interface GuestOptions {
  /** `bios` uses an i440FX with an IDE drive, `efi` a Q35 with a SATA drive. Default `bios`. */
  readonly firmware?: GuestMachine['firmware'];
  /** Program that the guest's disk boots. Default `grub`. */
  readonly system?: 'grub' | 'linux';
  /** Whether the guest has an empty CD drive. Default true. */
  readonly drive?: boolean;
  /** Whether the guest has an interface on QEMU's user network. Default false. */
  readonly network?: boolean;
}

/**
 * A report of the guest's programs (a boot, a medium, a pressed button, a text of a typed command), or the
 * kernel's message for an NMI. All versions of the kernel print this part of the message.
 */
const REPORT = /RACKLESS-.*\n|NMI received/;
const BOOT = /RACKLESS-(DISK|ISO) .*\n/;

/** A machine as its owner sees it: over Redfish and on its serial console. */
export class Guest extends Machine {
  /** Length of the output when the last command was typed; -1 before the first one. */
  #typedAt = -1;

  constructor(
    readonly name: string,
    uuid: string,
    private readonly serial: SerialLine,
    private readonly lab: Lab,
  ) {
    super(uuid, () => lab.bmc);
  }

  /** Returns the reports of the guest so far, in order. */
  events(): readonly string[] {
    return Array.from(this.serial.output.matchAll(new RegExp(REPORT, 'g')), ([report]) => report.trim());
  }

  /**
   * Returns the next report of the guest, even an unexpected one (see {@link REPORT}).
   * @throws {Error} if there is none within `timeoutMs`.
   */
  async nextEvent(timeoutMs = BOOT_MS): Promise<string> {
    return (await this.serial.waitFor(REPORT, timeoutMs)).trim();
  }

  /** Returns the report of the next boot, and skips other reports. @throws {Error} after BOOT_MS. */
  async boots(): Promise<string> {
    return (await this.serial.waitFor(BOOT, BOOT_MS)).trim();
  }

  /**
   * Waits for output that matches this regular expression and ends at the end of a word.
   * @throws {Error} after BOOT_MS.
   */
  async waitFor(text: string): Promise<void> {
    await this.serial.waitFor(new RegExp(`${text}\\b`), BOOT_MS);
  }

  /**
   * Types a command at the current or the next prompt. {@link nextEvent} still returns earlier
   * reports.
   */
  async type(command: string): Promise<void> {
    const isAtPrompt = (): boolean => {
      const { output } = this.serial;
      const prompt = Math.max(output.lastIndexOf('grub> '), output.lastIndexOf('rackless# '));
      return prompt > Math.max(this.#typedAt, output.lastIndexOf('RACKLESS-DISK'), output.lastIndexOf('RACKLESS-ISO'));
    };
    await becomes(() => Promise.resolve(isAtPrompt()), true, BOOT_MS);
    this.#typedAt = this.serial.output.length;
    this.serial.type(command);
  }

  /**
   * Returns the persistent definition with passwords, without metadata. These guests have only the
   * daemon's metadata.
   */
  async definition(): Promise<string> {
    const xml = await this.lab.virsh('dumpxml', '--inactive', '--security-info', this.name);
    return xml.replace(/\s*<metadata(\/>|>[\s\S]*<\/metadata>)/, '');
  }

  /** Returns libvirt's word for the state of the guest: `running`, `shut off`. */
  async state(): Promise<string> {
    return (await this.lab.virsh('domstate', this.name)).trim();
  }

  /** Returns the process id of the guest's QEMU. */
  async process(): Promise<number> {
    return await this.lab.libvirtd.guestPid(this.name);
  }
}

/** A libvirtd with guests, an image server, and the daemons in front of this libvirtd. */
export class Lab {
  readonly #serials: SerialLine[] = [];
  readonly #daemons: DaemonProcess[] = [];
  #bmc: Bmc | undefined;
  #guests = 0;

  private constructor(
    readonly libvirtd: PrivateLibvirtd,
    readonly images: ImageServer,
  ) {}

  /** Starts the lab. */
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

  /** Kills the daemons, and stops the other parts of the lab. */
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

  /** The daemon that was started last. */
  get daemon(): DaemonProcess {
    const daemon = this.#daemons.at(-1);
    if (daemon === undefined) throw new Error('there is no daemon');
    return daemon;
  }

  /** Starts a daemon and waits until it serves. @throws {Error} if it ends first, or does not know a setting. */
  async startDaemon(): Promise<void> {
    const daemon = new DaemonProcess(['--config', this.#file('bmc-daemon.conf')]);
    this.#daemons.push(daemon);
    this.#bmc = new Bmc(await daemon.address());
    // An unknown setting is only a warning, and the test would use the default.
    const unknown = daemon.messages('warn').filter((message) => message.includes('is not a setting'));
    if (unknown.length > 0) throw new Error(unknown.join('\n'));
  }

  /** Kills the daemon that was started last (SIGKILL). */
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

  /** Returns the names of the volumes in the daemon's pool, including incomplete images; [] if it is not active. */
  async volumes(): Promise<readonly string[]> {
    const pools = await this.virsh('pool-list', '--name');
    if (!words(pools).includes(POOL)) return [];
    await this.virsh('pool-refresh', POOL);
    // virsh prints name and path, a line for each volume.
    return words(await this.virsh('vol-list', POOL)).filter((_word, index) => index % 2 === 0);
  }

  /** Runs virsh and returns its output. @throws if virsh fails or runs for more than 240 s. */
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

/** Returns the name of a setting in a line: `EMULATOR_STATE_DIR` for `EMULATOR_STATE_DIR = 'state'`. */
function nameOf(line: string): string | undefined {
  return words(line)[0];
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/**
 * Repeats `ask` until it returns the expected value.
 * @throws {Error} with the last value after `timeoutMs`.
 */
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
