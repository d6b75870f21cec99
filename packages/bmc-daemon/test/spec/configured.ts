/** Runs the daemon from a configuration file within this process. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { inspectSettings } from '../../src/config/inspect.js';
import { loadSettings } from '../../src/config/load.js';
import { startDaemon } from '../../src/daemon.js';

/** The result of a start from a configuration file. */
export interface Configured {
  /** The reasons why the daemon did not start, a line for each. Empty if it runs. */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
  /** The first URL of the daemon, `http://127.0.0.1:…`. Empty if it does not run. */
  readonly url: string;
}

/** A folder with a configuration file and other files. */
export class ConfigurationFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'rackless-spec-'));
  #close: () => Promise<void> = () => Promise.resolve();

  /**
   * Writes a file into the folder.
   * @returns its path.
   */
  write(name: string, text: string): string {
    const path = join(this.path, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /**
   * Stops the running daemon, if any. Starts a daemon with the given lines, as `bmc-daemon --config`
   * does. By default it uses a free port of the loopback address, with machines in memory.
   * @throws if the start fails although the settings have no faults.
   */
  async start(...lines: readonly string[]): Promise<Configured> {
    await this.stop();
    const file = this.write(
      'emulator.conf',
      [
        "EMULATOR_LISTEN_IP = '127.0.0.1'",
        'EMULATOR_LISTEN_PORT = 0',
        'EMULATOR_FAKE_DRIVER = True',
        `EMULATOR_STATE_DIR = '${this.path}'`,
        'EMULATOR_SHUTDOWN_WAIT_SECONDS = 0',
        ...lines,
        '',
      ].join('\n'),
    );
    // The daemon searches this folder for openstack/clouds.yaml. So it does not read the user's
    // file.
    const environment = { XDG_CONFIG_HOME: this.path };
    const loaded = loadSettings({ file, flags: {}, environment });
    const inspection = inspectSettings(loaded, environment);
    const faults = [...loaded.faults, ...inspection.faults];
    const warnings = [...loaded.warnings, ...inspection.warnings];
    if (faults.length > 0) return { faults, warnings, url: '' };
    const log = createTestLog({ level: 'error', format: 'text', write: () => undefined });
    const daemon = await startDaemon({ ...loaded, environment, log });
    this.#close = () => daemon.close();
    return { faults, warnings, url: daemon.addresses[0] ?? '' };
  }

  /** Stops the running daemon, if any. */
  async stop(): Promise<void> {
    const close = this.#close;
    this.#close = () => Promise.resolve();
    await close();
  }

  /** Stops the running daemon, if any, and removes the folder. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.path, { recursive: true });
  }
}
