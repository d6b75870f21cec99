/**
 * Starts a complete bmc-daemon for the clients of this folder from a configuration file: with a
 * password file and a certificate, or without both.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { loadSettings } from '../../src/config/load.js';
import { startDaemon } from '../../src/daemon.js';

const run = promisify(execFile);

/** Options of {@link serveMachines}. */
export interface ServedOptions {
  /** True: HTTPS with a password. False: HTTP without authentication. */
  readonly secured: boolean;
  /** libvirt's URI; undefined for the fake driver. */
  readonly libvirtUri?: string;
}

/** A running daemon. */
export interface Served {
  /** `https://127.0.0.1:40001`, without a path. */
  readonly url: string;
  /** Host and port, such as `127.0.0.1:40001`. */
  readonly host: string;
  /** Undefined without authentication. */
  readonly credentials: { readonly user: string; readonly password: string } | undefined;
  /** The folder of the daemon's files, to which tests may add files. `close` removes it. */
  readonly folder: string;
  /** Returns the log so far. */
  log(): string;
  close(): Promise<void>;
}

/** Starts a daemon from a configuration file, as its command line does. @throws {Error} if it does not start. */
export async function serveMachines({ secured, libvirtUri }: ServedOptions): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), 'rackless-clients-'));
  const credentials = secured ? { user: 'admin', password: 'a password: with "signs"' } : undefined;
  const lines = ["EMULATOR_LISTEN_IP = '127.0.0.1'", 'EMULATOR_LISTEN_PORT = 0', "EMULATOR_STATE_DIR = 'state'"];
  lines.push(
    'EMULATOR_CONSOLE_SSH_PORT = None',
    'EMULATOR_LIBVIRT_TIMEOUT_SECONDS = 30',
    'EMULATOR_TASK_AFTER_SECONDS = 60',
  );
  lines.push(libvirtUri === undefined ? 'EMULATOR_FAKE_DRIVER = True' : `EMULATOR_LIBVIRT_URI = '${libvirtUri}'`);
  if (credentials !== undefined) {
    // Uses htpasswd and openssl as administrators do. The daemon must accept htpasswd's prefix
    // `$2y$`, which differs from bcrypt's own.
    await run('htpasswd', ['-cbB', join(folder, 'htpasswd'), credentials.user, credentials.password]);
    await run('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
      ...['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')],
    ]);
    lines.push("EMULATOR_AUTH_FILE = 'htpasswd'", "EMULATOR_SSL_CERT = 'cert.pem'", "EMULATOR_SSL_KEY = 'key.pem'");
  }
  const file = join(folder, 'bmc-daemon.conf');
  await writeFile(file, `${lines.join('\n')}\n`);

  const loaded = loadSettings({ file });
  if (loaded.faults.length > 0) throw new Error(`configuring a daemon: ${loaded.faults.join('; ')}`);
  let logged = '';
  const log = createTestLog({ level: 'info', format: 'text', write: (lines) => (logged += lines) });
  const daemon = await startDaemon({ ...loaded, environment: {}, log });
  const [url] = daemon.addresses;
  if (url === undefined) throw new Error('starting a daemon: it listens nowhere');
  return {
    url,
    host: new URL(url).host,
    credentials,
    folder,
    log: () => {
      log.flush();
      return logged;
    },
    close: async () => {
      await daemon.close();
      await rm(folder, { recursive: true });
    },
  };
}
