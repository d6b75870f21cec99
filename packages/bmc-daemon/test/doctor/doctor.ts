/** Runs `bmc-daemon doctor` as it is built, and reads its report. */
import { execFileSync } from 'node:child_process';
import { run, type RunOptions } from '../daemon/process.js';

/** A finding of a report. */
export interface ReportedFinding {
  readonly severity: 'problem' | 'warning' | 'note';
  readonly host: string | null;
  readonly subject: string;
  readonly message: string;
  readonly fix: string | null;
}

/** A report of `--json`. */
export interface JsonReport {
  readonly problems: number;
  readonly warnings: number;
  readonly notes: number;
  readonly hosts: readonly {
    readonly name: string;
    readonly uri: string;
    readonly libvirt: string | null;
    readonly qemu: string | null;
  }[];
  readonly cloud: string | null;
  readonly findings: readonly ReportedFinding[];
}

/** Flags that cause no findings on most hosts: a free port, and an address that needs no accounts. */
export const QUIET = ['-i', '127.0.0.1', '-p', '0'];

/** Runs the doctor with a long time limit. @throws {Error} if it prints anything on standard error. */
export async function doctor(
  args: readonly string[],
  { env, ...options }: RunOptions = {},
): Promise<JsonReport & { readonly code: number | null }> {
  const quiet = { EMULATOR_CONSOLE_SSH_PORT: 'None', ...env };
  const command = ['doctor', '--json', '--timeout', '240', ...QUIET, ...args];
  const { code, stdout, stderr } = await run(command, { ...options, env: quiet });
  if (stderr !== '') throw new Error(`the doctor printed errors: ${stderr}`);
  return { code, ...(JSON.parse(stdout) as JsonReport) }; // the form that this file describes
}

/** Returns the findings about a subject. */
export const findingsAbout = ({ findings }: JsonReport, ...subjects: readonly string[]): readonly ReportedFinding[] =>
  findings.filter(({ subject }) => subjects.includes(subject));

/** Runs the commands of a finding, as an administrator does. @throws if it has none, or if they fail. */
export function applyFix({ fix }: ReportedFinding): void {
  execFileSync('sh', ['-c', fix ?? 'exit 1'], { stdio: 'pipe' });
}

/** Makes a password file with one account. */
export const makeUsers = (file: string): void =>
  void execFileSync('htpasswd', ['-cbB', '-C', '4', file, 'admin', 'secret words'], { stdio: 'pipe' });
