/** Finds the boot to which the text of a new connection belongs. */
import { iso, type Batch, type Connection, type RunningBoot } from './console-log-batch.js';
import type { ConsoleLogFolder } from './console-log-folder.js';

/** If a port is connected later than this after the start of the boot, the log may lack the first output. */
const LATE_MS = 2_000;

/** The recorded boots. */
interface Recorded {
  /** The last identified boot since the start of the daemon. */
  readonly current: RunningBoot | undefined;
  readonly folder: ConsoleLogFolder;
  /** Called if the stored log is unreadable, or the new id of a run cannot be stored. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * Returns the boot of a connection, and the note before its text. The note is undefined if the daemon
 * connected soon after the start or the reset. The boot is the last recorded one if the run of the machine is the
 * same and the machine was not reset; otherwise it is a new one. Never rejects.
 */
export async function bootOf(
  connection: Connection,
  { current, folder, onFailed }: Recorded,
): Promise<Pick<Batch, 'opening'> & { boot: RunningBoot }> {
  const { time, startedAt, resetAt, closedAt, hasMoved } = connection;
  const instance = await connection.instance;
  const last = current ?? (await lastRecorded(folder, onFailed));
  // The new host has another id for the same run, so the current boot gets this id.
  if (hasMoved && current !== undefined && instance !== null) {
    current.instance = instance;
    if (current.number !== undefined) await folder.setInstance(current.number, instance).catch(onFailed);
  }
  const isSame = last !== undefined && instance !== null && last.instance === instance;
  const began = isSame ? resetAt : startedAt;
  if (began !== undefined) {
    const opening = time - began > LATE_MS ? `connected at ${iso(time)}, after the beginning` : undefined;
    return { boot: { began, instance, number: undefined }, opening };
  }
  if (!isSame) {
    const opening = 'the log begins here: the machine was running already';
    return { boot: { began: time, instance, number: undefined }, opening };
  }
  const since = closedAt ?? (await lastWrite(folder, last, onFailed));
  const from = since === undefined ? 'the beginning' : iso(since);
  const why = hasMoved ? ', while the machine moved to another host' : '';
  return { boot: last, opening: `nothing was recorded between ${from} and ${iso(time)}${why}` };
}

/** Returns the last boot in the folder, recorded before the daemon started; undefined if none exists or is readable. */
async function lastRecorded(
  folder: ConsoleLogFolder,
  onFailed: Recorded['onFailed'],
): Promise<RunningBoot | undefined> {
  try {
    const last = await folder.last();
    return last === undefined
      ? undefined
      : { began: Date.parse(last.began), instance: last.instance, number: last.number };
  } catch (error) {
    // The last boot is unknown, so the recording begins a new one.
    onFailed(error);
    return undefined;
  }
}

/** Returns when text of a boot was last written, in milliseconds since 1970; undefined: unknown, or no text. */
async function lastWrite(
  folder: ConsoleLogFolder,
  { number }: RunningBoot,
  onFailed: Recorded['onFailed'],
): Promise<number | undefined> {
  try {
    return number === undefined ? undefined : await folder.lastWrittenAt(number);
  } catch (error) {
    onFailed(error);
    return undefined;
  }
}
