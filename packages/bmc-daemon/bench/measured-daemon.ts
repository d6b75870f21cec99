/** Starts daemons for benchmarks, defines machines in libvirt's test driver, and measures the cost of a daemon. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Hypervisor } from '@rackless/libvirt';
import { freePort } from '../../daemon/test/support/free-port.js';

const daemonPath = fileURLToPath(new URL('../../../../bin/bmc-daemon.js', import.meta.url));

/** A running daemon. */
export interface MeasuredDaemon {
  readonly url: string;
  readonly pid: number;
  /** Stops the daemon, and waits until its process has ended. */
  stop(): Promise<void>;
}

/** The answer to a request. */
export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** Returns the URI of the machine with the given number. */
export function systemUri(index: number): string {
  return `/redfish/v1/Systems/${uuidOf(index)}`;
}

function uuidOf(index: number): string {
  return `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
}

const machineXml = (index: number, title: string): string => `<domain type='test'>
  <name>machine-${index}</name>
  <uuid>${uuidOf(index)}</uuid>
  <title>${title}</title>
  <memory unit='MiB'>64</memory>
  <vcpu>2</vcpu>
  <os><type arch='x86_64'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'>
      <source file='/x-${index}.img'/><target dev='vda' bus='virtio'/><boot order='1'/>
    </disk>
    <disk type='file' device='cdrom'><target dev='sda' bus='sata'/><readonly/></disk>
    <interface type='network'>
      <mac address='52:54:00:00:${hexByte(index >> 8)}:${hexByte(index & 255)}'/>
      <source network='default'/><model type='virtio'/>
    </interface>
  </devices>
</domain>`;

function hexByte(value: number): string {
  return value.toString(16).padStart(2, '0');
}

/**
 * The machines of a private libvirtd. `close` removes them: the test driver drops all machines when
 * its last client disconnects.
 */
export class Machines {
  readonly #hypervisor: Hypervisor;

  private constructor(hypervisor: Hypervisor) {
    this.#hypervisor = hypervisor;
  }

  /** Connects, and removes the test driver's own machine. */
  static async open(libvirtUri: string): Promise<Machines> {
    const hypervisor = Hypervisor.connect(libvirtUri, { callTimeoutMs: 60_000 });
    for (const domain of await hypervisor.listAllDomains()) {
      await domain.destroy();
      await domain.undefine();
    }
    return new Machines(hypervisor);
  }

  /**
   * Defines `count` machines, or changes their definitions.
   * @param options.title title in the definition. Another title changes the definition.
   * @param options.first the number of the first machine. Default: 1.
   */
  async define(
    count: number,
    { title, first = 1 }: { readonly title: string; readonly first?: number },
  ): Promise<void> {
    for (let index = first; index < first + count; index += 1) {
      await this.#hypervisor.domainDefineXml(machineXml(index, title), 0, { timeoutMs: 60_000 });
    }
  }

  close(): Promise<void> {
    return this.#hypervisor.close();
  }
}

/**
 * Starts a daemon, and waits until it is connected to libvirt.
 * @param folder the folder for its configuration and state.
 * @param lines more lines of its configuration.
 * @throws {Error} after 120 s.
 */
export function startDaemon(folder: string, libvirtUri: string, lines = ''): Promise<MeasuredDaemon> {
  return startMeasured(folder, { arguments: ['--libvirt-uri', libvirtUri], lines });
}

/** Starts a daemon in front of any hypervisor, and waits until it is connected to it. @throws {Error} after 120 s. */
export async function startMeasured(
  folder: string,
  options: {
    readonly arguments: readonly string[];
    readonly lines?: string;
    readonly environment?: Readonly<Record<string, string>>;
  },
): Promise<MeasuredDaemon> {
  const port = await freePort();
  const config = join(folder, 'bench.conf');
  await writeFile(config, `EMULATOR_STATE_DIR = '${folder}'\n${options.lines ?? ''}`);
  const child = spawn(
    process.execPath,
    [...[daemonPath, '--config', config, '--interface', '127.0.0.1', '--port', String(port)], ...options.arguments],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...options.environment } },
  );
  const url = `http://127.0.0.1:${port}`;
  await until(`an answer of the daemon at ${url}`, async () => (await fetchOnce(`${url}/healthz`)).status === 200);
  return { url, pid: child.pid ?? NaN, stop: () => stop(child) };
}

/** Returns the line of the configuration for one host, or for several hosts. */
export function hostsSetting(uris: readonly string[]): string {
  const names = uris.map((uri, index) => `'host-${index}': '${uri}'`);
  return `EMULATOR_LIBVIRT_URI = ${uris.length === 1 ? `'${uris[0] ?? ''}'` : `{${names.join(', ')}}`}\n`;
}

/** Waits until the collection has this number of machines. @throws {Error} after 120 s. */
export async function untilListed({ url }: MeasuredDaemon, count: number): Promise<void> {
  await until('all machines', async () => {
    const { body } = await fetchOnce(`${url}/redfish/v1/Systems`);
    return body.includes(`"Members@odata.count":${count}`);
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** Waits until the condition is true. A condition that rejects counts as false. @throws {Error} after two minutes. */
export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (Date.now() < deadline) {
    // Usually, an error means that the daemon does not listen yet.
    if (await condition().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`waiting for ${what}: not there after 120 s`);
}

/** Connections that stay open. */
const agent = new Agent({ keepAlive: true });

/** Sends a GET over a connection that stays open. Rejects if the connection breaks. */
export function fetchOnce(url: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      response.on('error', reject);
    }).on('error', reject);
  });
}

/**
 * Returns the CPU time of all present threads of a process in milliseconds. Ended threads do not count.
 * @see proc_pid_schedstat in the kernel's documentation
 */
export async function cpuMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = threads.map(async (thread) => {
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
    return Number(text.split(' ')[0]) / 1e6;
  });
  return (await Promise.all(times)).reduce((sum, ms) => sum + ms, 0);
}

/**
 * Waits until a process uses less than 1 % of a CPU, for at most half a minute.
 * @returns its CPU time since its start in milliseconds.
 */
export async function waitUntilIdle({ pid }: MeasuredDaemon): Promise<number> {
  let used = await cpuMs(pid);
  let before = -Infinity;
  for (let looks = 0; used - before > 5 && looks < 60; looks += 1) {
    before = used;
    await new Promise((resolve) => setTimeout(resolve, 500));
    used = await cpuMs(pid);
  }
  return used;
}

/** Returns the CPU time of the process during `work` in milliseconds, and the result of `work`. */
export async function costOf<Value>({ pid }: MeasuredDaemon, work: () => Promise<Value>) {
  const before = await cpuMs(pid);
  const value = await work();
  return { ms: (await cpuMs(pid)) - before, value };
}

/** Returns the median. Of the two middle values of an even number of values, returns the higher one. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
