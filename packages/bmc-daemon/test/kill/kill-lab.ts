/**
 * Kills a daemon process before a chosen call to libvirtd, and reads the state of the host
 * afterwards.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { DaemonProcess } from '../daemon/process.js';
import { Bmc } from '../e2e/bmc.js';
import { ImageServer } from '../e2e/image-server.js';
import { withVariable } from '../harness/variable-store.js';
import { bootableDisk, bootableIso, SerialLine } from '../support/tiny-guest.js';
import { until } from '../libvirt-driver/host.js';
import { CallRelay } from './call-relay.js';
import { IMAGE_POOL, poolsOf, readFingerprint, volumesOf, type Fingerprint } from './fingerprint.js';

const name = 'killed';

/** The calls of an operation, and whether the daemon was killed. */
export interface Run {
  /** Names of the calls that change state, in order. */
  readonly calls: readonly string[];
  readonly killed: boolean;
}

/** A machine on a private libvirtd, and a daemon that reaches this libvirtd only through a relay. */
export class KillLab {
  #uuid = '';
  #daemon: DaemonProcess | undefined;
  #bmc: Bmc | undefined;
  #isKilled = false;

  private constructor(
    readonly libvirtd: PrivateLibvirtd,
    readonly images: ImageServer,
    readonly relay: CallRelay,
    readonly serial: SerialLine,
  ) {}

  static async start(): Promise<KillLab> {
    const libvirtd = await startLibvirtd({ driver: 'qemu' });
    const relay = await CallRelay.listen(join(libvirtd.dir, 'tmp', 'relay.sock'), libvirtd.socket);
    const lab = new KillLab(libvirtd, await ImageServer.start(), relay, await SerialLine.listen());
    await lab.#prepare();
    // The first image creates the pool, which is not removed.
    await lab.reset();
    for (const [action, body] of [
      ['InsertMedia', { Image: lab.images.url('a.iso') }],
      ['EjectMedia', {}],
    ] as const) {
      await lab.request('POST', `${lab.manager}/VirtualMedia/Cd/Actions/VirtualMedia.${action}`, body);
    }
    return lab;
  }

  async stop(): Promise<void> {
    await this.#daemon?.dispose();
    await this.relay.close();
    await this.images.stop();
    await this.libvirtd.stop();
    await this.serial.close();
  }

  get uuid(): string {
    return this.#uuid;
  }

  get path(): string {
    return `/redfish/v1/Systems/${this.uuid}`;
  }

  get manager(): string {
    return `/redfish/v1/Managers/${this.uuid}`;
  }

  get bmc(): Bmc {
    if (this.#bmc === undefined) throw new Error('there is no daemon');
    return this.#bmc;
  }

  /**
   * Brings the host back to its first state, with a new machine. Starts a daemon if none runs. A running
   * daemon serves the new machine. Its work for the removed machine cannot change the new one, which has
   * another UUID.
   */
  async reset(): Promise<void> {
    await this.#quietly('destroy', name);
    await this.#quietly('undefine', name, '--managed-save', '--nvram');
    for (const pool of await poolsOf(this)) {
      if (pool !== IMAGE_POOL) await this.#quietly('pool-destroy', pool);
    }
    for (const volume of await volumesOf(this)) await this.#quietly('vol-delete', volume, '--pool', IMAGE_POOL);
    for (const label of ['disk', 'data']) await writeFile(this.file(`${label}.img`), bootableDisk({ label }));
    await this.#defineMachine();
    this.relay.decideBy(() => 'forward');
    await (this.#daemon === undefined ? this.startDaemon() : this.#serves());
  }

  async startDaemon(): Promise<void> {
    this.#daemon = new DaemonProcess(['--config', this.file('bmc-daemon.conf')]);
    this.#bmc = new Bmc(await this.#daemon.address());
    await this.#serves();
  }

  /** Waits until the daemon serves the machine. */
  async #serves(): Promise<void> {
    // A new daemon finishes interrupted operations before it accepts changes of the machine.
    const path = `${this.manager}/VirtualMedia/Cd`;
    await until(
      'the daemon to serve the machine',
      async () => {
        const { status } = await this.bmc.send('PATCH', path, { VerifyCertificate: true });
        return status === 200;
      },
      600_000,
    );
  }

  /** Ends the daemon, and starts another one. */
  async restartDaemon(): Promise<void> {
    await this.#daemon?.dispose();
    await this.startDaemon();
  }

  /** Whether the last {@link run} has killed its daemon. */
  get isKilled(): boolean {
    return this.#isKilled;
  }

  /** Sends a request and expects success. */
  async request(method: string, path: string, body?: unknown): Promise<void> {
    const answer = await this.bmc.finish(await this.bmc.send(method, path, body));
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  async resetSystem(type: string): Promise<void> {
    await this.request('POST', `${this.path}/Actions/ComputerSystem.Reset`, { ResetType: type });
  }

  /**
   * Runs an operation and kills the daemon before its change number `kill`, counted from 0.
   * @param kill Infinity: does not kill the daemon.
   */
  async run(operation: () => Promise<void>, kill: number): Promise<Run> {
    const calls: string[] = [];
    this.#isKilled = false;
    this.relay.decideBy(({ name: call, changes }) => {
      if (!changes) return 'forward';
      calls.push(call);
      if (calls.length - 1 !== kill) return 'forward';
      this.#isKilled = true;
      this.#daemon?.signal('SIGKILL');
      return 'drop';
    });
    try {
      await operation();
    } catch (error) {
      // The client of a killed daemon gets no response.
      if (!this.isKilled) throw error;
    }
    if (this.isKilled) {
      await this.#daemon?.dispose();
      this.#daemon = undefined;
    }
    this.relay.decideBy(() => 'forward');
    return { calls, killed: this.isKilled };
  }

  /**
   * Runs an operation and answers its change number `refuse` with an error.
   * @returns the name of the refused call ('': the operation made fewer changes), and whether the operation succeeded.
   */
  async runRefused(
    operation: () => Promise<void>,
    refuse: number,
  ): Promise<{ readonly call: string; readonly done: boolean }> {
    let [changed, refused] = [0, ''];
    this.relay.decideBy(({ name: call, changes }) => {
      if (!changes || changed++ !== refuse) return 'forward';
      refused = call;
      return 'refuse';
    });
    try {
      await operation();
      return { call: refused, done: true };
    } catch {
      // Other tests check the error response.
      return { call: refused, done: false };
    } finally {
      this.relay.decideBy(() => 'forward');
    }
  }

  fingerprint(): Promise<Fingerprint> {
    return readFingerprint(this);
  }

  /** Runs virsh and returns its output. */
  async virsh(...words: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)('virsh', ['--quiet', '--connect', this.libvirtd.uri, ...words], {
      timeout: 600_000,
    });
    return stdout;
  }

  /** Starts the machine without the daemon, and waits until it has booted. */
  async boot(): Promise<void> {
    const before = this.serial.events.length;
    await this.virsh('start', name);
    await this.serial.reaches(before + 2, 600_000);
  }

  /**
   * Changes the machine to UEFI, and starts it once, so that libvirt creates its variable file. Then writes a
   * boot entry into this file.
   */
  async makeUefi(): Promise<void> {
    await this.virsh('define', this.file('uefi.xml'));
    await this.virsh('start', name);
    await this.virsh('destroy', name);
    const empty = await readFile('/usr/share/OVMF/OVMF_VARS_4M.fd');
    await writeFile(this.variablesFile, withVariable(empty, 'Boot0042', 'debian'));
  }

  get variablesFile(): string {
    return join(this.libvirtd.dir, 'lib/qemu/nvram', `${name}_VARS.fd`);
  }

  file(file: string): string {
    return join(this.libvirtd.dir, 'tmp', file);
  }

  get name(): string {
    return name;
  }

  async #prepare(): Promise<void> {
    for (const label of ['a', 'b']) {
      await writeFile(this.file(`${label}.iso`), bootableIso({ label }));
      await this.images.publish(`${label}.iso`, this.file(`${label}.iso`));
    }
    await writeFile(
      this.file('bmc-daemon.conf'),
      [
        `EMULATOR_LISTEN_IP = '127.0.0.1'`,
        `EMULATOR_LISTEN_PORT = 0`,
        `EMULATOR_LIBVIRT_URI = 'qemu+unix:///system?socket=${this.relay.path}'`,
        `EMULATOR_STATE_DIR = 'state'`,
        `EMULATOR_LIBVIRT_TIMEOUT_SECONDS = 600`,
        `EMULATOR_TASK_AFTER_SECONDS = 600`,
        `EMULATOR_VMEDIA_DEVICES = {'Cd': {'Name': 'CD', 'MediaTypes': ['CD']}, 'Usb': {'Name': 'USB', ` +
          `'MediaTypes': ['USBStick']}}`,
        '',
      ].join('\n'),
    );
  }

  async #defineMachine(): Promise<void> {
    this.#uuid = randomUUID();
    await writeFile(this.file('machine.xml'), this.#machine({ memoryMiB: 16, os: '<os>', firmware: '' }));
    const noSecureBoot = `<firmware><feature enabled='no' name='secure-boot'/></firmware><loader stateless='no'/>`;
    await writeFile(
      this.file('uefi.xml'),
      this.#machine({ memoryMiB: 128, os: `<os firmware='efi'>`, firmware: noSecureBoot }),
    );
    await this.virsh('define', this.file('machine.xml'));
  }

  #machine({ memoryMiB, os, firmware }: { memoryMiB: number; os: string; firmware: string }): string {
    return `<domain type='qemu'>
  <name>${name}</name>
  <uuid>${this.uuid}</uuid>
  <memory unit='MiB'>${memoryMiB}</memory>
  <vcpu current='1'>2</vcpu>
  ${os}<type arch='x86_64' machine='q35'>hvm</type>${firmware}</os>
  <features><acpi/></features>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/><source file='${this.file('disk.img')}'/>
      <target dev='vda' bus='virtio'/><boot order='1'/>
    </disk>
    <disk type='file' device='cdrom'><driver name='qemu' type='raw'/><target dev='sda' bus='sata'/><readonly/></disk>
    <controller type='usb' model='qemu-xhci'/>
    <controller type='scsi' model='virtio-scsi'/>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/><source file='${this.file('data.img')}'/><target dev='sdx' bus='scsi'/>
    </disk>
    <serial type='tcp'><source mode='connect' host='127.0.0.1' service='${this.serial.port}'/></serial>
    <memballoon model='none'/>
  </devices>
</domain>`;
  }

  async #quietly(...words: readonly string[]): Promise<void> {
    await this.virsh(...words).catch(() => undefined);
  }
}
