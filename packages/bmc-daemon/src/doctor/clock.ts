/** Examines the clock of this host, without a network. */
import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { asRoot } from '../findings/commands.js';
import { note, warning, type Finding } from '../findings/finding.js';
import { stateFolderOf } from './files.js';
import type { Probe } from './probe.js';

const SUBJECT = 'clock';
/** Smaller differences are normal: times of files are coarse, and a time server corrects seconds. */
const TOLERANCE_MS = 120_000;

/** Examines whether the clock is synchronized, and whether it went back since the daemon wrote its state. */
export const clock: Probe = {
  subject: SUBJECT,
  settings: ['stateDir'],
  examine: async (examined) => {
    const { account, timeoutMs } = examined;
    const enable = asRoot('timedatectl set-ntp true', account.uid);
    const [isSynchronized, newest] = await Promise.all([
      isClockSynchronized(timeoutMs),
      newestFile(stateFolderOf(examined)),
    ]);
    const findings: Finding[] = [];
    if (newest !== null && newest.timeMs > Date.now() + TOLERANCE_MS) {
      const message =
        `${newest.file} was written in the future (${new Date(newest.timeMs).toISOString()}): the clock went back, ` +
        'so new events and log entries sort before older ones.';
      findings.push(warning(SUBJECT, message, enable));
    }
    if (isSynchronized === false) {
      const message =
        'No time server synchronizes the clock, so times of events differ from other hosts, and certificates may seem invalid.';
      findings.push(warning(SUBJECT, message, enable));
    }
    if (isSynchronized === null)
      findings.push(note(SUBJECT, 'Neither systemd nor chrony reports whether the clock is synchronized.'));
    return findings;
  },
};

const run = promisify(execFile);

/** Programs that report the state of the kernel's clock (adjtimex), with the answer that means yes or no. */
const reporters = [
  { command: ['timedatectl', 'show', '--property=NTPSynchronized', '--value'], yes: /^yes$/m, no: /^no$/m },
  {
    command: ['chronyc', '-n', 'tracking'],
    yes: /^Leap status\s*:\s*(?:Normal|Insert|Delete)/m,
    no: /^Leap status\s*:\s*Not/m,
  },
] as const;

/** Returns whether the clock is synchronized; null if no program reports it. */
async function isClockSynchronized(timeoutMs: number): Promise<boolean | null> {
  const env = { ...process.env, LC_ALL: 'C' };
  const answers = await Promise.all(
    reporters.map(async ({ command: [program, ...args], yes, no }) => {
      const { stdout } = await run(program, args, { timeout: timeoutMs, env }).catch(() => ({ stdout: '' }));
      return yes.test(stdout) ? true : no.test(stdout) ? false : null;
    }),
  );
  return answers.find((answer) => answer !== null) ?? null;
}

async function newestFile(folder: string): Promise<{ readonly file: string; readonly timeMs: number } | null> {
  const names = await readdir(folder).catch(() => []);
  const files = await Promise.all(
    names.map(async (name) => {
      const file = path.join(folder, name);
      const found = await stat(file).catch(() => null);
      return { file, timeMs: found?.mtimeMs ?? 0 };
    }),
  );
  return files.toSorted((a, b) => b.timeMs - a.timeMs)[0] ?? null;
}
