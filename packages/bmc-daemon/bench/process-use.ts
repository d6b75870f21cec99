/** Reads the CPU time and the memory of a process from /proc. */
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';

/** Memory of a process in MiB. */
export interface Memory {
  readonly now: number;
  /** The highest value since the start of the process, or since {@link resetPeak}. */
  readonly peak: number;
}

/** Returns the resident memory. @see proc_pid_status(5) */
export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return { now: mebibytes('VmRSS'), peak: mebibytes('VmHWM') };
}

/** Starts a new measurement of the peak. @see proc_pid_clear_refs(5) */
export async function resetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}

/** Time of the main thread of a process in milliseconds. */
export interface ThreadTime {
  /** Time on a CPU. */
  readonly cpuMs: number;
  /** Time in which the thread was ready to run while other threads used the CPUs. */
  readonly waitMs: number;
}

/** Reads the times of the main thread. @see the kernel's documentation of schedstat */
export function mainThreadTime(pid: number): ThreadTime {
  const [cpu, wait] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return { cpuMs: Number(cpu) / 1e6, waitMs: Number(wait) / 1e6 };
}
