/** Opens access to consoles over SSH: selects the port, and opens the host keys and the server. */
import { ListenError } from '@rackless/daemon/network/listener.js';
import type { Log } from '@rackless/daemon/log/log.js';
import type { HypervisorDriver } from '../../drivers/driver.js';
import type { Logins } from '../../offers/logins.js';
import { consoleSshPort } from '../../offers/console-ssh-port.js';
import { StateFileError } from '../../state-file.js';
import type { ConsoleHub } from '../console-hub.js';
import type { SshServer } from './ssh-server.js';

interface ConsoleSshOptions {
  /** Under their names in config/settings.ts. */
  readonly settings: {
    readonly authFile: string | null;
    readonly consoleSshPort: number | 'auto' | null;
    readonly listenIp: string;
  };
  /** Null if the hypervisor has no consoles. */
  readonly hub: ConsoleHub | null;
  /** Null without the feature `accounts`: SSH cannot check logins then. */
  readonly access: Logins | null;
  readonly driver: Pick<HypervisorDriver, 'listSystems'>;
  /**
   * Returns the UUID of the machine whose manager has the given address; null for an address of the
   * host.
   */
  readonly machineAt: (address: string) => string | null;
  readonly stateDir: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'error' | 'debug'>;
}

/**
 * Opens the server.
 * @returns null if SSH is disabled, the hypervisor has no consoles, or the feature `accounts` is absent. With the
 *   port `auto`, also null without a password file. With this port, it logs a warning and returns null if the
 *   daemon cannot listen or the host keys are unusable.
 * @throws {ListenError} if the settings name a port, and the daemon cannot listen.
 * @throws {StateFileError} if the settings name a port, and the host keys are unusable.
 */
export async function openConsoleSsh(options: ConsoleSshOptions): Promise<SshServer | null> {
  const { settings, hub, access, log, stateDir } = options;
  const { authFile, consoleSshPort: wanted, listenIp: ip } = settings;
  const port = consoleSshPort(wanted, authFile);
  if (hub === null || access === null || port === null) return null;
  try {
    // ssh2 is large, so only a service with SSH loads it.
    const [{ openHostKeys }, { openSshServer }] = await Promise.all([
      import('./ssh-host-keys.js'),
      import('./ssh-server.js'),
    ]);
    const hostKeys = openHostKeys(stateDir);
    const server = await openSshServer({ ...options, access, hub, ip, port, hostKeys });
    const fingerprints = hostKeys.map(({ type, fingerprint }) => `${type} ${fingerprint}`);
    log.info(`consoles over SSH at port ${server.port}`, { hostKeys: fingerprints });
    return server;
  } catch (error) {
    if (wanted !== 'auto' || !(error instanceof ListenError || error instanceof StateFileError)) throw error;
    log.warn(`no consoles over SSH: ${error.message}`);
    return null;
  }
}
