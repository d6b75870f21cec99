/** Processes on a core of their own, and what they use of the machine. */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, connect, type AddressInfo } from 'node:net';

/** The load, the upstreams and what measures. */
export const LOAD_CORE = 0;
/** What is measured, alone. */
export const TARGET_CORE = 1;

/**
 * Starts a command on one core. The caller ends it by {@link stop}.
 * @param stdio as for `spawn`.
 */
export function startPinned(core: number, command: readonly string[], stdio: StdioOptions): ChildProcess {
  // taskset becomes the command: the process id is the command's own.
  return spawn('taskset', ['-c', String(core), ...command], { stdio });
}

/** Ends a process; SIGKILL after five seconds. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  const hard = setTimeout(() => child.kill('SIGKILL'), 5000);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(hard);
}

/** The process id. @throws {Error} the command could not be started. */
export function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error(`starting ${child.spawnfile}: there is no process`);
  return child.pid;
}

/** The processes that one has started. @see proc(5) */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}

/** CPU time that all threads of a process have used, in microseconds. @see proc_pid_stat(5) */
export async function cpuTimeUs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Resident memory in MB (10^6 bytes), now and at most since the start. @see proc_pid_status(5) */
export async function memoryMb(pid: number): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

/** Of several, none twice. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port); // listening on TCP
  await Promise.all(
    servers.map((server) => {
      server.close();
      return once(server, 'close');
    }),
  );
  return ports;
}

/** Waits until somebody listens at a port, for at most 20 s. @returns the time that it took, in milliseconds. */
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
