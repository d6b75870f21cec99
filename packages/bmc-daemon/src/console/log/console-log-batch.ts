/**
 * Types of a recording: the recorded boot, the connection to the machine, and the buffered text.
 */
import type { BootFacts } from './console-log-files.js';
import { note, type PendingText, type Piece } from './console-log-pending.js';

/** A boot that is being recorded. */
export interface RunningBoot {
  /** Milliseconds since 1970. */
  began: number;
  /** Id of the machine's run, which several boots can share; null if unknown. */
  instance: string | null;
  /** Number of the boot in the folder; undefined until something is written. */
  number: number | undefined;
}

/** Buffered text of one boot. `boot` is null until `bootOf` has found the boot. */
export interface Batch {
  boot: RunningBoot | null;
  readonly text: PendingText;
  /** A note to write before the text. */
  opening: string | undefined;
}

/** The state of a machine when its port is connected. Times are in milliseconds since 1970. */
export interface Connection {
  readonly time: number;
  /** Id of the machine's run; null if unknown. */
  readonly instance: Promise<string | null>;
  /** When the daemon saw a start since the previous connection; undefined: none. */
  readonly startedAt: number | undefined;
  /** When the daemon saw a reset while the port was not connected; undefined: none. */
  readonly resetAt: number | undefined;
  /** When the previous connection ended, or sent its last output if it was lost; undefined: none. */
  readonly closedAt: number | undefined;
  /** Whether the machine has moved to another host since the previous connection began. */
  readonly hasMoved: boolean;
}

/** Puts the note `opening` before a piece. Without a note, returns the piece unchanged. */
export function withOpening(opening: string | undefined, { bytes, marks }: Piece): Piece {
  if (opening === undefined) return { bytes, marks };
  const start = note(opening);
  return {
    bytes: Buffer.concat([start, bytes]),
    marks: marks.map(({ at, time }) => ({ at: at + start.length, time })),
  };
}

/** Returns the data of a boot that the folder stores. */
export function factsOf({ began, instance }: Pick<RunningBoot, 'began' | 'instance'>): BootFacts {
  return { began: iso(began), instance };
}

/** Returns a time as ISO 8601. @param time milliseconds since 1970. */
export function iso(time: number): string {
  return new Date(time).toISOString();
}
