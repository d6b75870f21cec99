/** Names and addresses of managers, and the resources of their network. */
import type { HypervisorDriver } from '../drivers/driver.js';
import type { Feature, FeatureContext, Listening } from '../feature.js';
import { hostAddresses } from '../host/host-addresses.js';
import { readHostNetwork } from '../host/host-network.js';
import { openStateFile } from '../state-file.js';
import { createManagerNetwork, type ManagerNetwork, type NetworkOfManagers } from './manager-network.js';
import { emptyNetworkState, managerNetworkState } from './network-state.js';
import { managerInterfaceResources } from './resources/manager-ethernet-interface.js';
import { networkProtocol } from './resources/network-protocol.js';
import type { ManagerNetworkServices } from './resources/services.js';

/** The feature `managerNetwork`. Without it, no request is restricted to one machine. */
export const managerNetwork: Feature<ManagerNetworkServices> = {
  resources: [networkProtocol, ...managerInterfaceResources],
  open(context) {
    const { driver } = context.services();
    let listening: Pick<Listening, 'addAddress'> | undefined;
    const network = openNetwork(context, (address) => {
      if (listening === undefined) throw new Error(`listening at ${address}: the service does not listen yet`);
      return listening.addAddress(address);
    });
    const unsubscribe = driver.onChange(({ kind, uuid }) => {
      if (kind === 'undefined') void network.forget((stored) => stored === uuid);
    });
    return {
      services: { managerNetwork: network },
      forMachine: () => ({ managerNetwork: withLateRemoval(network) }),
      start: async (started) => {
        listening = started;
        await network.start();
        // Does not wait, because a host that does not answer must not delay the start.
        void forgetMissing(network, driver);
      },
      close: async () => {
        unsubscribe();
        await network.close();
      },
    };
  },
};

/**
 * Delays removals of addresses, for requests that use the address of a manager: the reply may use the
 * address that the change removes.
 */
function withLateRemoval(network: ManagerNetwork): NetworkOfManagers {
  return {
    viewOf: (uuid) => network.viewOf(uuid),
    change: (uuid, change) => network.change(uuid, change, { lateRemoval: true }),
    scopeOf: network.scopeOf,
    machineAt: (address) => network.machineAt(address),
    isReserved: (address) => network.isReserved(address),
  };
}

/** @throws {StateFileError} if the file of the networks cannot be read. A damaged file is renamed. */
function openNetwork(
  { nameServers, services, stateDir, log }: FeatureContext,
  listenAt: Listening['addAddress'],
): ManagerNetwork {
  const { serviceUuid } = services();
  const state = openStateFile({
    folder: stateDir,
    name: `manager-network-${serviceUuid}`,
    schema: managerNetworkState,
    initial: emptyNetworkState,
    log,
    broken: 'setAside',
  });
  return createManagerNetwork({
    state,
    hostNetwork: () => readHostNetwork({ listenUrls: services().controller.addresses }),
    host: hostAddresses(),
    listenAt,
    useNameServers: nameServers.use,
    log,
  });
}

/** Removes the settings of machines that were deleted while no daemon ran. Does nothing if the list is incomplete. */
async function forgetMissing(
  network: Pick<ManagerNetwork, 'forget'>,
  driver: Pick<HypervisorDriver, 'listSystems' | 'isListIncomplete'>,
): Promise<void> {
  try {
    const uuids = new Set((await driver.listSystems()).map(({ uuid }) => uuid));
    if (driver.isListIncomplete?.() !== true) await network.forget((uuid) => !uuids.has(uuid));
  } catch {
    // The host does not answer, so the daemon retries at its next start.
  }
}
