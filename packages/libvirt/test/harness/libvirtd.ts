import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** Options of {@link startLibvirtd}. */
export interface LibvirtdOptions {
  /** The driver that `uri` names. The daemon has both drivers. */
  readonly driver: 'test' | 'qemu';
  /** Further lines of libvirtd.conf, such as `keepalive_interval = 1`. */
  readonly libvirtdConf?: readonly string[];
  /** Further lines of qemu.conf. */
  readonly qemuConf?: readonly string[];
  /**
   * Bridges to create in a network namespace of libvirtd, such as `['br0']`. Absent: libvirtd shares the
   * network of the host, so tests must not create bridges.
   */
  readonly bridges?: readonly string[];
  /** Further arguments of libvirtd, such as `--listen`. */
  readonly args?: readonly string[];
  /** Further environment variables of libvirtd. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A libvirtd that is isolated from the host. */
export interface PrivateLibvirtd {
  /** Connection URI with the private socket, so that it never connects to the host's daemon. */
  readonly uri: string;
  /** Path of the read-write unix socket. */
  readonly socket: string;
  /** Process id of libvirtd outside of its namespace. Changes with a restart. */
  readonly pid: number;
  /**
   * Folder of all its files: `etc`, `run`, `lib`, `log`, `cache`, and a `tmp` for images. `stop()`
   * removes it.
   */
  readonly dir: string;
  /** Sends libvirtd a signal. */
  signal(signal: NodeJS.Signals): void;
  /** Returns the process id of a running QEMU guest outside of its namespace. @throws {Error} if it does not run. */
  guestPid(domainName: string): Promise<number>;
  /** Stops libvirtd, waits until it has exited, and removes its socket. Its guests continue to run. */
  stopDaemon(signal?: NodeJS.Signals): Promise<void>;
  /** Starts libvirtd after `stopDaemon()` and waits until it listens. */
  start(): Promise<void>;
  /** Stops libvirtd and all guests, and removes `dir`. Idempotent. */
  stop(): Promise<void>;
}

const bindings = {
  run: '/run/libvirt',
  etc: '/etc/libvirt',
  lib: '/var/lib/libvirt',
  log: '/var/log/libvirt',
  cache: '/var/cache/libvirt',
  // Console locks contain terminal names and process ids, which differ between namespaces.
  lock: '/run/lock',
} as const;

// The shell runs as long as its stdin is open. If the test process dies, the pipe closes, the shell
// exits, tini (process 1 of the namespace) exits, and the kernel kills libvirtd and all guests.
// A subshell starts libvirtd, so that tini is its parent: with a slow reaper, libvirt waits seconds
// for each dead QEMU.
const holderScript = `
set -e
for pair in ${Object.entries(bindings)
  .map(([name, target]) => `${name}:${target}`)
  .join(' ')}; do
  mkdir -p "\${pair#*:}"
  mount --bind "$1/\${pair%%:*}" "\${pair#*:}"
done
dir=$1
bridges=$2
shift 2
# /sys shows the network interfaces of the namespace in which it was mounted.
[ -z "$bridges" ] || mount -t sysfs sysfs /sys
for bridge in $bridges; do
  ip link add "$bridge" type bridge
  ip link set "$bridge" up
done
echo ready
while read -r line; do
  rm -f "$dir/run/libvirtd.pid"
  (libvirtd --pid-file /run/libvirt/libvirtd.pid "$@" 0</dev/null >>"$dir/log/libvirtd.out" 2>&1 &)
done
`;

/** Waits until `probe` returns a value. The timeout is long because a loaded host is slow. */
async function until<T>(what: string, probe: () => Promise<T | undefined>, timeoutMs = 240_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined) return value;
    if (Date.now() > deadline) throw new Error(`waiting for ${what}: nothing after ${timeoutMs} ms`);
    await sleep(10);
  }
}

const readIfPresent = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').then(
    (text) => text,
    () => undefined,
  );

/**
 * Returns the outer process id of the process that has the id `inner` inside the namespace of
 * `holderPid`; undefined if there is none.
 */
async function outerPid(holderPid: number, inner: number): Promise<number | undefined> {
  const children = (await readIfPresent(`/proc/${holderPid}/task/${holderPid}/children`)) ?? '';
  for (const child of children.split(' ').filter(Boolean).map(Number)) {
    const status = (await readIfPresent(`/proc/${child}/status`)) ?? '';
    const own = /^NSpid:.*\s(\d+)$/m.exec(status)?.[1];
    if (Number(own) === inner) return child;
    const below = await outerPid(child, inner);
    if (below !== undefined) return below;
  }
  return undefined;
}

/** Waits until a server listens at a socket, or at a port of loopback. @throws {Error} after four minutes. */
export const untilListens = (what: string, target: string | number): Promise<true> =>
  until(`${what} to listen`, () => listens(target));

const listens = (target: string | number): Promise<true | undefined> =>
  new Promise((resolve) => {
    const probe = typeof target === 'string' ? connect(target) : connect(target, '127.0.0.1');
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', () => resolve(undefined));
  });

class IsolatedLibvirtd implements PrivateLibvirtd {
  readonly uri: string;
  readonly socket: string;
  #pid = 0;
  #stopped: Promise<void> | undefined;

  constructor(
    driver: LibvirtdOptions['driver'],
    readonly dir: string,
    private readonly process: ChildProcessByStdio<Writable, Readable, Readable>,
    private readonly processPid: number,
  ) {
    this.socket = join(dir, 'run', 'libvirt-sock');
    this.uri = `${driver}+unix:///${driver === 'test' ? 'default' : 'system'}?socket=${this.socket}`;
  }

  get pid(): number {
    return this.#pid;
  }

  signal(signal: NodeJS.Signals): void {
    globalThis.process.kill(this.#pid, signal);
  }

  async guestPid(domainName: string): Promise<number> {
    const inner = await readFile(join(this.dir, 'run', 'qemu', `${domainName}.pid`), 'utf8');
    const outer = await outerPid(this.processPid, Number(inner));
    if (outer === undefined) throw new Error(`guest ${domainName} has no process`);
    return outer;
  }

  async start(): Promise<void> {
    this.process.stdin.write('start\n');
    try {
      await untilListens('libvirtd', this.socket);
      this.#pid = await until('the pid of libvirtd', async () => {
        const inner = await readIfPresent(join(this.dir, 'run', 'libvirtd.pid'));
        return inner === undefined ? undefined : await outerPid(this.processPid, Number(inner));
      });
    } catch (cause) {
      const output = (await readIfPresent(join(this.dir, 'log', 'libvirtd.out'))) ?? '';
      throw new Error(`starting a private libvirtd in ${this.dir}: ${output.slice(-2000)}`, { cause });
    }
  }

  async stopDaemon(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const pid = this.#pid;
    globalThis.process.kill(pid, signal);
    await until('libvirtd to end', async () =>
      (await readIfPresent(`/proc/${pid}/status`)) === undefined ? true : undefined,
    );
    // A killed daemon leaves its socket behind. No client may connect to it before the next daemon
    // listens.
    await rm(this.socket, { force: true });
  }

  stop(): Promise<void> {
    this.#stopped ??= (async () => {
      const ended = new Promise<void>((resolve) => {
        if (this.process.exitCode !== null || this.process.signalCode !== null) resolve();
        else this.process.once('exit', () => resolve());
      });
      this.process.stdin.end();
      await ended;
      await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
    })();
    return this.#stopped;
  }
}

/**
 * Starts a private libvirtd in its own mount and process namespaces, in about 0.1 s. This needs
 * root, or a user who may create user namespaces. Without `bridges`, the daemon shares the network
 * with the host. When this process exits, the kernel kills the daemon and its guests.
 * @throws {Error} if the namespaces cannot be prepared; with the end of the daemon's output if it does
 *   not listen within four minutes.
 */
export async function startLibvirtd(options: LibvirtdOptions): Promise<PrivateLibvirtd> {
  const dir = await mkdtemp(join(tmpdir(), 'rackless-libvirtd-'));
  for (const name of [...Object.keys(bindings), 'tmp']) await mkdir(join(dir, name));
  // libvirt uses the first of two settings with one name, so the caller's settings come first.
  const configure = (name: string, lines: readonly string[]): Promise<void> =>
    writeFile(join(dir, 'etc', name), `${lines.join('\n')}\n`);
  await configure('libvirtd.conf', [
    ...(options.libvirtdConf ?? []),
    'auth_unix_rw = "none"',
    'unix_sock_rw_perms = "0700"',
  ]);
  await configure('qemu.conf', [
    ...(options.qemuConf ?? []),
    'user = "root"',
    'group = "root"',
    'security_driver = "none"',
    'cgroup_controllers = []',
    'namespaces = []',
    'remember_owner = 0',
    // virtlogd is not in the namespace. It also loses a serial log that is quickly closed and
    // reopened.
    'stdio_handler = "file"',
    // Two libvirtds that search the same range can choose the same port, and one guest fails.
    `remote_display_port_min = ${10_000 + 100 * Math.floor(200 * Math.random())}`,
  ]);
  const asRoot = process.getuid?.() === 0;
  const child = spawn(
    'unshare',
    [
      ...(asRoot ? [] : ['--map-root-user']),
      ...(options.bridges === undefined ? [] : ['--net']),
      ...['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'],
      ...['tini', '-s', '--', 'sh', '-c', holderScript, 'libvirtd-holder', dir, options.bridges?.join(' ') ?? ''],
      ...(options.args ?? []),
    ],
    { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...options.env } },
  );
  let output = '';
  const ready = new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stdout.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('ready')) resolve();
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`preparing a private libvirtd: exit ${String(code)}: ${output}`)));
  });
  child.stdin.on('error', () => undefined); // The holder has exited. Its 'exit' event reports the error.
  try {
    await ready;
    if (child.pid === undefined) throw new Error('preparing a private libvirtd: no process');
    const daemon = new IsolatedLibvirtd(options.driver, dir, child, child.pid);
    await daemon.start();
    return daemon;
  } catch (error) {
    child.stdin.end();
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    throw error;
  }
}
