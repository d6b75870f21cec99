/** The network of managers, put together: what is kept, the host, the listener, and what requests of one machine see. */
import type { Listener } from '@rackless/daemon/listener.js';
import type { Log } from '@rackless/daemon/log.js';
import type { HypervisorDriver } from './drivers/driver.js';
import { hostAddresses } from './host/host-addresses.js';
import type { HostNetwork } from './host/host-network.js';
import type { NameServers } from './host/name-lookup.js';
import { createManagerNetwork, type ManagerNetwork } from './manager-network/manager-network.js';
import { managerAddresses } from './manager-network/network-plan.js';
import { managerNetworkState, emptyNetworkState } from './manager-network/network-state.js';
import { openStateFile } from './state-file.js';

export interface ManagerNetworkServiceOptions {
  readonly driver: Pick<HypervisorDriver, 'onChange' | 'listSystems'>;
  /** The host's, read anew. */
  readonly hostNetwork: () => HostNetwork;
  readonly nameServers: NameServers;
  readonly stateDir: string;
  /** Two services that share a folder have managers of their own. */
  readonly serviceUuid: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
}

export interface ManagerNetworkService {
  readonly network: ManagerNetwork;
  /** Whether a URL is at an address that is kept for a manager. */
  isKept(url: string): boolean;
  /** Sets the addresses of managers and listens at them. Call it once the service listens and the driver is started. */
  start(listener: Pick<Listener, 'addAddress'>): Promise<void>;
  /** Takes the addresses of managers back. */
  close(): Promise<void>;
}

/** @throws {StateFileError} where what is kept can not be read. */
export function openManagerNetwork(options: ManagerNetworkServiceOptions): ManagerNetworkService {
  const { driver, hostNetwork, nameServers, stateDir, serviceUuid, log } = options;
  let listener: Pick<Listener, 'addAddress'> | undefined;
  const state = openStateFile({
    folder: stateDir,
    name: `manager-network-${serviceUuid}`,
    schema: managerNetworkState,
    initial: emptyNetworkState,
    log,
    broken: 'setAside',
  });
  const network = createManagerNetwork({
    state,
    hostNetwork,
    host: hostAddresses(),
    listenAt: (address) => {
      if (listener === undefined) throw new Error(`listening at ${address}: the service has not begun to listen`);
      return listener.addAddress(address);
    },
    useNameServers: nameServers.use,
    log,
  });
  const leave = driver.onChange(({ kind, uuid }) => {
    if (kind === 'undefined') void network.forget((known) => known === uuid);
  });
  const forgetMissing = async (): Promise<void> => {
    try {
      const present = new Set((await driver.listSystems()).map(({ uuid }) => uuid));
      await network.forget((uuid) => !present.has(uuid));
    } catch {
      // A host that is not there yet says nothing of its machines; the next start asks again.
    }
  };
  return {
    network,
    isKept: (url) => {
      const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
      return managerAddresses(state.state).some(({ address }) => address === host);
    },
    async start(started) {
      listener = started;
      await network.start();
      // Not waited for: a host that does not answer has time until it does.
      void forgetMissing();
    },
    async close() {
      leave();
      await network.close();
    },
  };
}
