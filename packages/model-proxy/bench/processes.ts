/** Runs processes on separate cores, and measures their CPU time and memory. */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, connect, type AddressInfo } from 'node:net';

/** The core of the load, the upstreams and the measurement. */
export const LOAD_CORE = 0;
/** The core that only the target uses. */
export const TARGET_CORE = 1;

/**
 * Starts a command on one core. The caller ends it with {@link stop}.
 * @param stdio as for `spawn`.
 */
export function startPinned(core: number, command: readonly string[], stdio: StdioOptions): ChildProcess {
  // taskset replaces itself by the command, so the process id is the command's.
  return spawn('taskset', ['-c', String(core), ...command], { stdio });
}

/** Ends a process, with SIGKILL if it still runs after five seconds. Does nothing if it has ended. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  const hard = setTimeout(() => child.kill('SIGKILL'), 5000);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(hard);
}

/**
 * Returns the process id.
 * @throws {Error} if the command could not be started.
 */
export function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error(`starting ${child.spawnfile}: there is no process`);
  return child.pid;
}

/**
 * Returns the child processes of a process.
 * @see proc(5)
 */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}

/**
 * Returns the used CPU time of all threads of a process in microseconds.
 * @see proc_pid_stat(5)
 */
export async function cpuTimeUs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/**
 * Returns resident memory in MB (10^6 bytes), now and the maximum since the start.
 * @see proc_pid_status(5)
 */
export async function memoryMb(pid: number): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

/** Returns different free ports. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  // The address of a TCP server is an object.
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(
    servers.map((server) => {
      server.close();
      return once(server, 'close');
    }),
  );
  return ports;
}

/**
 * Waits until a process listens at a port, for at most 20 s.
 * @returns the waiting time in milliseconds.
 * @throws {Error} if no process listens after this time.
 */
export async function listening(port: number): Promise<number> {
  const start = performance.now();
  while (performance.now() - start < 20_000) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`waiting for a listener at port ${port}: not there after 20 s`);
}
