/** Makes a folder for each test, and ends the daemons of the test. */
import { afterEach, beforeEach } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DaemonProcess, type RunOptions } from './process.js';

/** Flags of a daemon with machines in memory, on a free port of loopback. */
export const FAKE = ['--fake', '-i', '127.0.0.1', '-p', '0'];

/** The folder of the running test, and the daemons in it. */
export interface DaemonFixture {
  /** A path in the test's folder. */
  readonly at: (name: string) => string;
  /** Starts a daemon, which ends with the test. */
  readonly start: (args: readonly string[], options?: RunOptions) => DaemonProcess;
  /**
   * Writes the configuration file.
   * @returns its path.
   */
  readonly config: (text: string) => string;
  /** Makes a certificate for localhost and 127.0.0.1: `<name>.pem` and `<name>.key`. */
  readonly makeCertificate: (name: string) => void;
}

/** Registers hooks that create the folder before each test, and kill its daemons and remove the folder after it. */
export function daemonFixture(): DaemonFixture {
  let folder = '';
  const started: DaemonProcess[] = [];
  const at = (name: string) => path.join(folder, name);

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'bmc-daemon-'));
  });
  afterEach(async () => {
    await Promise.all(started.splice(0).map((child) => child.dispose()));
    rmSync(folder, { recursive: true });
  });

  return {
    at,
    start(args, { env, ...options } = {}) {
      // The daemons of a test share its state folder, and have no default SSH port. So tests do not affect
      // each other or the host.
      const own = { STATE_DIRECTORY: at('state'), EMULATOR_CONSOLE_SSH_PORT: 'None' };
      const child = new DaemonProcess(args, { ...options, env: { ...own, ...env } });
      started.push(child);
      return child;
    },
    config(text) {
      writeFileSync(at('bmc.conf'), text);
      return at('bmc.conf');
    },
    makeCertificate(name) {
      const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
      const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
      const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)];
      execFileSync('openssl', ['req', '-x509', ...kind, ...subject, ...files], { stdio: 'pipe' });
    },
  };
}
