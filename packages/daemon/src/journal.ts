/**
 * Priorities of lines in systemd's journal. A line that begins with `<4>` is a warning there: `journalctl -p warning` finds it.
 * @see sd-daemon(3)
 */
import { fstatSync } from 'node:fs';

const prefixes = { error: '<3>', warn: '<4>', info: '<6>', debug: '<7>' } as const;

/** Makes the prefix of a line of that level. */
export type JournalPrefix = (level: keyof typeof prefixes) => string;

/**
 * The prefixes where the journal reads the file descriptor, otherwise empty ones.
 * @param environment systemd names the journal's stream in `JOURNAL_STREAM`, as `device:inode`. A shell may have redirected the
 *   descriptor since, so both numbers are compared.
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
    // A closed descriptor is no journal.
    return false;
  }
}
