/** Findings of `bmc-daemon doctor`: what fails or can fail, and the command that corrects or prevents this. */

/**
 * A fact about a host that has consequences.
 * - `problem`: a function fails, or the daemon does not start.
 * - `warning`: a function may fail later, or is weaker than it should be.
 * - `note`: everything works, but the administrator should know this fact.
 */
export interface Finding {
  readonly severity: 'problem' | 'warning' | 'note';
  /** The part that was examined, in one word: `pool`, `port`, `certificate`. */
  readonly subject: string;
  /** One sentence with the cause and its consequence. */
  readonly message: string;
  /** Commands for a POSIX shell that correct the cause or show more about it; null only for a note. */
  readonly fix: string | null;
}

/** Returns a finding with the severity `problem`. */
export const problem = (subject: string, message: string, fix: string): Finding => ({
  severity: 'problem',
  subject,
  message,
  fix,
});

/** Returns a finding with the severity `warning`. */
export const warning = (subject: string, message: string, fix: string): Finding => ({
  severity: 'warning',
  subject,
  message,
  fix,
});

/** Returns a finding with the severity `note`. */
export const note = (subject: string, message: string, fix: string | null = null): Finding => ({
  severity: 'note',
  subject,
  message,
  fix,
});
