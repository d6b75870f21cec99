/** A private libvirtd with bridges, and `bmc-daemon machine` on it. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { virsh } from '../../../libvirt/test/harness/virsh.js';
import { run, type Finished } from '../daemon/process.js';

/** The entry for one machine in the output of `bmc-daemon machine … --json`. */
export interface JsonReport {
  readonly name: string;
  readonly uuid: string | null;
  readonly outcome: string;
  readonly macAddresses: readonly string[];
  readonly volumes: readonly { readonly pool: string; readonly volume: string }[];
  readonly notes: readonly string[];
}

/** The machines and files of a host. A test compares them before and after a command. */
export interface HostContents {
  readonly domains: readonly string[];
  readonly files: readonly string[];
}

/** swtpm runs as root, like the guests, because libvirt's default account may not write to the private folders. */
const qemuConf = ['swtpm_user = "root"', 'swtpm_group = "root"'];

/** A private libvirtd on which `bmc-daemon machine` makes machines. */
export class LabLibvirtd {
  private constructor(readonly libvirtd: PrivateLibvirtd) {}

  /**
   * Starts the libvirtd with the bridges br0 and br1, the active network `default` on br0, and the
   * pool `default`.
   * @param settings further lines of qemu.conf.
   */
  static async start(settings: readonly string[] = []): Promise<LabLibvirtd> {
    const bridges = ['br0', 'br1'];
    const libvirtd = await startLibvirtd({ driver: 'qemu', bridges, qemuConf: [...qemuConf, ...settings] });
    const lab = new LabLibvirtd(libvirtd);
    // libvirt's packages create this folder. A private libvirtd starts without it.
    await mkdir(join(lab.libvirtd.dir, 'log/qemu'));
    await lab.define('net', `<network><name>default</name><forward mode='bridge'/><bridge name='br0'/></network>`);
    await lab.virsh('net-start', 'default');
    await lab.virsh('pool-define-as', 'default', 'dir', '--target', lab.folder);
    await lab.virsh('pool-build', 'default');
    await lab.virsh('pool-start', 'default');
    return lab;
  }

  /** Folder of the pool. */
  get folder(): string {
    return join(this.libvirtd.dir, 'tmp', 'default');
  }

  stop(): Promise<void> {
    return this.libvirtd.stop();
  }

  virsh(...args: readonly string[]): Promise<string> {
    return virsh(this.libvirtd, ...args);
  }

  /** Defines a machine or a network. */
  async define(kind: 'domain' | 'net', xml: string): Promise<void> {
    const file = join(this.libvirtd.dir, 'tmp', 'defined.xml');
    await writeFile(file, xml);
    await this.virsh(kind === 'net' ? 'net-define' : 'define', file);
  }

  /** Runs `bmc-daemon machine` on this libvirtd to its end. */
  machine(...args: readonly string[]): Promise<Finished> {
    return runMachine(...args, '--libvirt-uri', this.libvirtd.uri);
  }

  /** Runs a command that must succeed. @returns the entries of its machines. */
  async results(...args: readonly string[]): Promise<readonly JsonReport[]> {
    const { code, stdout, stderr } = await this.machine(...args, '--json');
    if (code !== 0) throw new Error(`bmc-daemon machine ${args.join(' ')}: ${String(code)} ${stdout} ${stderr}`);
    return reportsIn(stdout);
  }

  /** Returns the names of all domains, and of the files that a machine can have on the host. */
  async contents(): Promise<HostContents> {
    const { dir } = this.libvirtd;
    const folders = [this.folder, join(dir, 'lib/qemu/nvram'), join(dir, 'log/qemu'), join(dir, 'lib/qemu/save')];
    const files = await Promise.all(folders.map((folder) => readdir(folder).catch(() => [])));
    const names = (await this.virsh('list', '--all', '--name')).split('\n').filter((name) => name !== '');
    return { domains: names.sort(), files: files.flat().sort() };
  }

  /** Returns the output of a machine's serial port so far. */
  async serialLog(name: string): Promise<string> {
    return await readFile(join(this.libvirtd.dir, 'log/qemu', `${name}-serial0.log`), 'latin1').catch(() => '');
  }
}

/**
 * Runs `bmc-daemon machine` to its end. Removes the line "waiting for another command to end" from
 * stderr. Commands of other tests can cause this line, because all libvirtds of this host share one lock.
 */
export async function runMachine(...args: readonly string[]): Promise<Finished> {
  const finished = await run(['machine', ...args]);
  return { ...finished, stderr: finished.stderr.replace('bmc-daemon: waiting for another command to end\n', '') };
}

/** Returns the entries of all machines in the output of `--json`. */
export function reportsIn(stdout: string): readonly JsonReport[] {
  return (JSON.parse(stdout) as { readonly machines: readonly JsonReport[] }).machines; // --json prints this object.
}
