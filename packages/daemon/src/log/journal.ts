/**
 * Prefixes of log lines that systemd's journal reads as priorities. The journal stores a line that
 * begins with `<4>` as a warning, and `journalctl -p warning` shows it.
 * @see sd-daemon(3)
 */
import { fstatSync } from 'node:fs';

const prefixes = { error: '<3>', warn: '<4>', info: '<6>', debug: '<7>' } as const;

/** Function that returns the prefix for a log level. */
export type JournalPrefix = (level: keyof typeof prefixes) => string;

/**
 * Returns a function that gives each level its prefix if the file descriptor is the journal, else
 * an empty string.
 * @param environment systemd stores the identity of the journal's stream in `JOURNAL_STREAM`, as
 *   `device:inode`. The function compares both numbers with the descriptor, because a shell may
 *   have redirected it.
 */
export function journalPrefix(
  descriptor: 1 | 2,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): JournalPrefix {
  return isJournal(descriptor, environment['JOURNAL_STREAM']) ? (level) => prefixes[level] : () => '';
}

function isJournal(descriptor: 1 | 2, stream: string | undefined): boolean {
  if (stream === undefined) return false;
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return stream === `${dev}:${ino}`;
  } catch {
    // The descriptor is closed.
    return false;
  }
}
