/** `bmc-daemon doctor`: a report about the settings, this host, and the libvirt hosts or the cloud. */
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { plainJson } from '@rackless/daemon/text/plain-text.js';
import type { LoadedSettings } from '../config/load.js';
import { examine, type DoctorReport } from '../doctor/examine.js';
import { renderDoctorReport } from '../doctor/render.js';
import { thisAccount } from '../host/account.js';

/** Flags of `bmc-daemon doctor`. */
export interface DoctorOptions {
  /** Prints JSON. */
  readonly json: boolean;
  /** Time limit of one probe. */
  readonly timeoutMs: number;
  /** Path of the configuration file as given; undefined: no file. */
  readonly file: string | undefined;
}

/** Width of a report in a file or a pipe. */
const DEFAULT_COLUMNS = 80;

/** Examines everything and prints the report. @returns the exit code: 1 if there is a problem. */
export async function doctor(loaded: LoadedSettings, { json, timeoutMs, file }: DoctorOptions): Promise<number> {
  const report = await examine({ loaded, file, environment: process.env, account: thisAccount(), timeoutMs });
  process.stdout.write(json ? `${plainJson(jsonReport(report))}\n` : renderDoctorReport(report, terminal()));
  return report.findings.some(({ severity }) => severity === 'problem') ? exitCode.failed : exitCode.done;
}

function jsonReport(report: DoctorReport): object {
  const count = (wanted: string): number => report.findings.filter(({ severity }) => severity === wanted).length;
  const { hosts, cloud, findings } = report;
  return {
    ...{ problems: count('problem'), warnings: count('warning'), notes: count('note'), hosts, cloud },
    // In the order of the text report. Every finding has the same member names.
    findings: findings.map(({ severity, host, subject, message, fix }) => ({ severity, host, subject, message, fix })),
  };
}

function terminal(): { readonly columns: number; readonly isColored: boolean } {
  const { stdout, env } = process;
  // A terminal without a size reports 0.
  const columns = stdout.isTTY && stdout.columns > 0 ? stdout.columns : DEFAULT_COLUMNS;
  // https://no-color.org: a variable that is not empty disables colors.
  const isColored = stdout.isTTY && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  return { columns, isColored };
}
