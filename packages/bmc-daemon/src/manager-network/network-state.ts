/** The network settings of managers that clients have made. They survive restarts. */
import { z } from 'zod';

const configuredAddress = z.object({
  /** Interface of the host, for example `eth0`. */
  device: z.string(),
  address: z.string(),
  /** Prefix length that the client has set. */
  prefix: z.number().int(),
  /**
   * Prefix length of the address on the device. Within a network of the host, this is not `prefix`, but that of a
   * single address (32 or 128), so that the kernel adds no route.
   */
  bits: z.number().int(),
});

/** An address of a manager that a client has set. */
export type ConfiguredAddress = Readonly<z.infer<typeof configuredAddress>>;

const machineNetwork = z.object({
  hostName: z.string().nullable(),
  fqdn: z.string().nullable(),
  addresses: z.array(configuredAddress),
});

/** Network settings of one machine's manager. */
export type MachineNetwork = Readonly<z.infer<typeof machineNetwork>>;

/** Schema of the state file. */
export const managerNetworkState = z.object({
  /** Settings by UUID, only for machines with settings. */
  machines: z.record(z.string(), machineNetwork),
  /** Name servers of the whole service; empty: those of the host. */
  nameServers: z.array(z.string()),
});
/** The contents of the state file of all managers. */
export type ManagerNetworkState = Readonly<z.infer<typeof managerNetworkState>>;

/** State without settings. */
export const emptyNetworkState: ManagerNetworkState = { machines: {}, nameServers: [] };

const plain: MachineNetwork = { hostName: null, fqdn: null, addresses: [] };

/** Returns the settings of a machine; without settings, no names and no addresses. */
export function networkOf({ machines }: ManagerNetworkState, uuid: string): MachineNetwork {
  return machines[uuid] ?? plain;
}

/** Returns the state with the settings of one machine; without this machine if its settings are empty. */
export function withNetwork(state: ManagerNetworkState, uuid: string, network: MachineNetwork): ManagerNetworkState {
  const { machines: others } = withoutMachine(state, uuid);
  const isPlain = network.hostName === null && network.fqdn === null && network.addresses.length === 0;
  return { ...state, machines: isPlain ? others : { ...others, [uuid]: network } };
}

/** Returns the state without the settings of one machine. */
export function withoutMachine(state: ManagerNetworkState, uuid: string): ManagerNetworkState {
  return { ...state, machines: Object.fromEntries(Object.entries(state.machines).filter(([id]) => id !== uuid)) };
}
