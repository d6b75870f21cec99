/** Consoles over SSH, where they are wanted and can be had: port, host keys and server, put together. */
import { ListenError, type Listener } from '@rackless/daemon/listener.js';
import type { Log } from '@rackless/daemon/log.js';
import type { Access } from './auth/access.js';
import type { Settings } from './config/settings.js';
import type { ConsoleHub } from './console/console-hub.js';
import type { SshServer } from './console/ssh-server.js';
import type { HypervisorDriver } from './drivers/driver.js';
import { StateFileError } from './state-file.js';

export interface ConsoleSshOptions {
  readonly settings: Pick<Settings, 'authFile' | 'consoleSshPort' | 'listenIp'>;
  /** Null: the hypervisor has no consoles. */
  readonly hub: ConsoleHub | null;
  readonly access: Pick<Access, 'accounts' | 'openSession' | 'sessions'>;
  readonly driver: Pick<HypervisorDriver, 'listSystems'>;
  /** UUID of the machine whose own address it is; null: the host's. */
  readonly machineAt: (address: string) => string | null;
  readonly stateDir: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'error' | 'debug'>;
}

/** Where nobody has said anything else. */
const DEFAULT_PORT = 2222;

/**
 * @returns null where there is nothing to be had: switched off, no consoles, or (with a warning) the usual port is in use or the host
 * keys can not be kept.
 * @throws {ListenError}, {StateFileError} where a port was asked for.
 */
export async function openConsoleSsh(options: ConsoleSshOptions): Promise<SshServer | null> {
  const { settings, hub, log, stateDir } = options;
  const { authFile, consoleSshPort: wanted, listenIp: ip } = settings;
  // Whoever has said nothing of accounts has not asked for a door without a lock either.
  const port = wanted === 'auto' ? (authFile === null ? null : DEFAULT_PORT) : wanted;
  if (hub === null || port === null) return null;
  try {
    // The library is loaded where it is used, and nowhere else: it is large.
    const [{ openHostKeys }, { openSshServer }] = await Promise.all([
      import('./console/ssh-host-keys.js'),
      import('./console/ssh-server.js'),
    ]);
    const hostKeys = openHostKeys(stateDir);
    const server = await openSshServer({ ...options, hub, ip, port, hostKeys });
    const fingerprints = hostKeys.map(({ type, fingerprint }) => `${type} ${fingerprint}`);
    log.info(`consoles over SSH at port ${server.port}`, { hostKeys: fingerprints });
    return server;
  } catch (error) {
    if (wanted !== 'auto' || !(error instanceof ListenError || error instanceof StateFileError)) throw error;
    log.warn(`no consoles over SSH: ${error.message}`);
    return null;
  }
}

/** The listener of Redfish and that of consoles as one, for further addresses: where one has them, so has the other. */
export function withConsoles(
  listener: Pick<Listener, 'addAddress'>,
  ssh: SshServer | null,
  log: Pick<Log, 'warn'>,
): Pick<Listener, 'addAddress'> {
  return {
    async addAddress(address) {
      const leave = await listener.addAddress(address);
      // Redfish is what the address is for; without consoles it does as well.
      const leaveConsoles = await ssh?.addAddress(address).catch((error: unknown) => {
        log.warn(`no consoles over SSH at ${address}`, { error });
      });
      return () => {
        leave();
        leaveConsoles?.();
      };
    },
  };
}
