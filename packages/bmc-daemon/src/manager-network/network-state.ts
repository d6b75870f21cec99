/** What clients have set of the network of managers, as it is kept over restarts. */
import { z } from 'zod';

const managerAddress = z.object({
  /** `eth0`. */
  device: z.string(),
  address: z.string(),
  /** As the client gave it. */
  prefix: z.number().int(),
  /** As it is set on the device: an address within a network of the host has no network of its own. */
  bits: z.number().int(),
});

/** An address of a manager. */
export type ManagerAddress = Readonly<z.infer<typeof managerAddress>>;

const machineNetwork = z.object({
  hostName: z.string().nullable(),
  fqdn: z.string().nullable(),
  addresses: z.array(managerAddress),
});

/** Of one machine's manager. */
export type MachineNetwork = Readonly<z.infer<typeof machineNetwork>>;

/** What the state file holds. */
export const managerNetworkState = z.object({
  /** By UUID; a machine that has nothing of its own does not stand here. */
  machines: z.record(z.string(), machineNetwork),
  /** Of the whole service; empty: the host's. */
  nameServers: z.array(z.string()),
});
export type ManagerNetworkState = Readonly<z.infer<typeof managerNetworkState>>;

/** Nobody has set anything. */
export const emptyNetworkState: ManagerNetworkState = { machines: {}, nameServers: [] };

const plain: MachineNetwork = { hostName: null, fqdn: null, addresses: [] };

/** What is kept of a machine. */
export function networkOf({ machines }: ManagerNetworkState, uuid: string): MachineNetwork {
  return machines[uuid] ?? plain;
}

/** The state with that of one machine; nothing is kept of one that has nothing of its own. */
export function withNetwork(state: ManagerNetworkState, uuid: string, network: MachineNetwork): ManagerNetworkState {
  const { machines: others } = withoutMachine(state, uuid);
  const isPlain = network.hostName === null && network.fqdn === null && network.addresses.length === 0;
  return { ...state, machines: isPlain ? others : { ...others, [uuid]: network } };
}

/** The state without one machine. */
export function withoutMachine(state: ManagerNetworkState, uuid: string): ManagerNetworkState {
  return { ...state, machines: Object.fromEntries(Object.entries(state.machines).filter(([id]) => id !== uuid)) };
}
