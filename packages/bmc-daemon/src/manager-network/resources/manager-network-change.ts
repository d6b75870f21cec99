/**
 * The body of a PATCH of a manager's EthernetInterface: applies Redfish's rules for arrays, and
 * translates errors of the change.
 */
import { z } from 'zod';
import type { HostAddress } from '../../host/host-network.js';
import { canonicalIp, prefixOfMask, type IpNetwork } from '../../host/ip-network.js';
import type { ManagerInterface, ManagerView } from '../manager-view.js';
import { NetworkChangeError, type NetworkChange, type NetworkFault } from '../network-plan.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import {
  message,
  messageStatus,
  sentence,
  withDetail,
  withPointers,
  type Message,
} from '../../redfish/messages/messages.js';
import { subnetMask } from '../../resources/systems/ethernet-interface.js';

/** Maximum items of a list. */
const MAX_ITEMS = 16;

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/**
 * The last label of a name cannot be a decimal or hexadecimal number, because clients then parse the name
 * as an address (URL Standard, 3.5). It cannot be `localhost`, because that is the client itself.
 */
const lastLabel = `(?!(?:\\d+|0x[0-9a-f]*|localhost)$)${label}`;
/** Host name without a domain (RFC 1123 §2.1). */
const hostName = z
  .string()
  .max(63)
  .regex(new RegExp(`^${lastLabel}$`, 'i'));
const fqdn = z
  .string()
  .max(253)
  .regex(new RegExp(`^(?:${label}\\.)+${lastLabel}$`, 'i'));

const ipv4 = z.ipv4();
const ipv6 = z.ipv6().refine((text) => canonicalIp(text) !== undefined, 'an IPv6 address');
const mask = ipv4.refine((text) => prefixOfMask(text) !== undefined, 'a mask of ones and then zeros');
const nameServer = z
  .string()
  .refine((text) => !['0.0.0.0', '::', undefined].includes(canonicalIp(text)), 'an IPv4 or IPv6 address');

/**
 * Returns the schema of a list. DSP0266, PATCH of arrays: null removes an item, an empty object leaves
 * it unchanged, and items after the end of the sent list are removed.
 */
const listOf = <Item extends z.ZodType>(item: Item) => z.array(item.nullable()).max(MAX_ITEMS);

const ipv4List = listOf(
  z.strictObject({
    Address: ipv4.optional(),
    SubnetMask: mask.optional(),
    Gateway: ipv4.nullable().optional(),
    // Read-only in the schema, but clients of older controllers send it.
    AddressOrigin: z.literal('Static').optional(),
  }),
);
const ipv6List = listOf(
  z.strictObject({ Address: ipv6.optional(), PrefixLength: z.number().int().min(1).max(128).optional() }),
);
const serverList = listOf(z.union([nameServer, z.strictObject({})]));

/** Schema of the PATCH body. */
export const networkBody = z.strictObject({
  HostName: hostName.nullable().optional(),
  FQDN: fqdn.nullable().optional(),
  NameServers: serverList.optional(),
  StaticNameServers: serverList.optional(),
  IPv4Addresses: ipv4List.optional(),
  IPv4StaticAddresses: ipv4List.optional(),
  IPv6StaticAddresses: ipv6List.optional(),
});
/** A validated PATCH body. */
export type NetworkBody = z.infer<typeof networkBody>;

type AddressProperty = 'IPv4Addresses' | 'IPv4StaticAddresses' | 'IPv6StaticAddresses';

/** A requested address and its index in the sent list. */
interface RequestedAddress extends IpNetwork {
  readonly index: number;
}

/** The change for a body, and the position of each address in the body. */
interface RequestedNetwork {
  readonly change: NetworkChange;
  /** Property and list indexes of the addresses, by address family. */
  readonly positions: Readonly<Partial<Record<'ipv4' | 'ipv6', readonly [AddressProperty, readonly number[]]>>>;
}

/** Returns the change for a body. @throws {RedfishError} 400 with all errors that need no access to the host. */
export function requestedNetwork(body: NetworkBody, view: ManagerView, nic: ManagerInterface): RequestedNetwork {
  const faults: Message[] = [];
  const { HostName, FQDN, IPv4Addresses, IPv4StaticAddresses, IPv6StaticAddresses } = body;
  const ipv4In = (property: AddressProperty, list: NetworkBody['IPv4Addresses'], shown: readonly ShownAddress[]) =>
    list === undefined
      ? undefined
      : requestedList(property, list.map(ipv4Item), shown, faults, (at) => gatewayFault(property, list, at, nic));
  const inUse = ipv4In('IPv4Addresses', IPv4Addresses, nic.ipv4);
  const staticList = ipv4In('IPv4StaticAddresses', IPv4StaticAddresses, nic.ownIpv4.map(owned));
  const ipv6Wanted =
    IPv6StaticAddresses === undefined
      ? undefined
      : requestedList('IPv6StaticAddresses', IPv6StaticAddresses.map(ipv6Item), nic.ownIpv6.map(owned), faults);
  if (inUse !== undefined && staticList !== undefined && !sameNetworks(inUse, staticList))
    faults.push(contradiction('IPv4Addresses', 'IPv4StaticAddresses'));
  const nameServers = requestedServers(body, view, faults);
  if (faults.length > 0) throw requestError(faults);

  const ipv4 = staticList ?? inUse;
  const property = staticList === undefined ? 'IPv4Addresses' : 'IPv4StaticAddresses';
  const networks = (list: readonly RequestedAddress[]) => list.map(({ address, prefix }) => ({ address, prefix }));
  const indexes = (list: readonly RequestedAddress[]) => list.map(({ index }) => index);
  return {
    change: {
      ...(HostName === undefined ? {} : { hostName: HostName }),
      ...(FQDN === undefined ? {} : { fqdn: FQDN }),
      ...(ipv4 === undefined && ipv6Wanted === undefined
        ? {}
        : {
            addresses: {
              device: nic.name,
              ...(ipv4 === undefined ? {} : { ipv4: networks(ipv4) }),
              ...(ipv6Wanted === undefined ? {} : { ipv6: networks(ipv6Wanted) }),
            },
          }),
      ...(nameServers === undefined ? {} : { nameServers }),
    },
    positions: {
      ...(ipv4 === undefined ? {} : { ipv4: [property, indexes(ipv4)] as const }),
      ...(ipv6Wanted === undefined ? {} : { ipv6: ['IPv6StaticAddresses', indexes(ipv6Wanted)] as const }),
    },
  };
}

/** Translates the errors of a failed change to messages that point at the properties of the body. */
export function translateNetworkError(
  { faults, cause }: NetworkChangeError,
  { change, positions }: RequestedNetwork,
): RedfishError {
  return requestError(
    faults.map((fault) => translateFault(fault, change, positions)),
    cause,
  );
}

function translateFault(fault: NetworkFault, change: NetworkChange, positions: RequestedNetwork['positions']): Message {
  const { field, kind, why, holder = '', index = -1, part } = fault;
  const detail = (subject: Message, pointer: string): Message =>
    withPointers(withDetail(subject, sentence(why)), `#/${pointer}`);
  if (field === 'hostName' || field === 'fqdn') {
    const property = field === 'hostName' ? 'HostName' : 'FQDN';
    return detail(faultMessage(kind, property, change[field] ?? '', holder), property);
  }
  const [list, indexes] = positions[field] ?? [field === 'ipv4' ? 'IPv4StaticAddresses' : 'IPv6StaticAddresses', []];
  const requested = change.addresses?.[field]?.[index];
  if (requested === undefined) return detail(faultMessage(kind, list, '', holder), list);
  const prefixName = field === 'ipv4' ? 'SubnetMask' : 'PrefixLength';
  const prefixValue = field === 'ipv4' ? subnetMask(requested.prefix) : String(requested.prefix);
  const [name, value] = part === 'prefix' ? [prefixName, prefixValue] : ['Address', requested.address];
  const pointer = `${list}/${indexes[index] ?? index}`;
  return detail(faultMessage(kind, name, value, holder), `${pointer}/${name}`);
}

function faultMessage(kind: NetworkFault['kind'], property: string, value: string, holder: string): Message {
  switch (kind) {
    case 'invalid':
      return message('PropertyValueIncorrect', property, value);
    case 'taken':
      return message('PropertyValueResourceConflict', property, value, `/redfish/v1/Managers/${holder}`);
    case 'unable':
      return message('PropertyValueExternalConflict', property, value);
  }
}

/** Returns the error of a request. Its status is 400 if any error is a mistake of the client, else 409. */
function requestError(faults: readonly Message[], cause?: unknown): RedfishError {
  return new RedfishError(Math.min(...faults.map(messageStatus)), faults, {}, cause);
}

interface Item {
  readonly address?: string | undefined;
  readonly prefix?: number | undefined;
}
interface ShownAddress extends HostAddress {
  readonly isOwn: boolean;
}

const owned = (network: IpNetwork): ShownAddress => ({ ...network, isOwn: true });

function ipv4Item(item: z.infer<typeof ipv4List>[number]): Item | null {
  if (item === null) return null;
  return { address: item.Address, prefix: item.SubnetMask === undefined ? undefined : prefixOfMask(item.SubnetMask) };
}

function ipv6Item(item: z.infer<typeof ipv6List>[number]): Item | null {
  if (item === null) return null;
  return { address: item.Address === undefined ? undefined : canonicalIp(item.Address), prefix: item.PrefixLength };
}

/**
 * Returns the manager's own addresses in a list. A list can repeat addresses of the host, but cannot
 * change or remove them.
 * @param faults gets the errors of the list.
 * @returns undefined if nothing changes: the list has no own addresses, and the current list shows those of the host.
 */
function requestedList(
  property: AddressProperty,
  items: readonly (Item | null)[],
  shown: readonly ShownAddress[],
  faults: Message[],
  furtherFault: (index: number) => Message | undefined = () => undefined,
): readonly RequestedAddress[] | undefined {
  const requested: RequestedAddress[] = [];
  // Without own addresses of the manager, the current list shows the addresses of the host.
  const hosts = shown.filter(({ isOwn }) => !isOwn).map(({ address }) => address);
  const hostAddressFault = (index: number, address: string): Message => {
    const why = `${address} is the address of the host, which this service does not change.`;
    return withPointers(withDetail(message('PropertyValueError', property), why), `#/${property}/${index}`);
  };
  for (const [index, item] of items.entries()) {
    const current = shown[index];
    const further = item === null ? undefined : furtherFault(index);
    if (further !== undefined) faults.push(further);
    if (item === null) {
      if (current?.isOwn === false) faults.push(hostAddressFault(index, current.address));
      continue;
    }
    const address = item.address ?? current?.address;
    const prefix =
      item.prefix ?? (item.address === undefined || item.address === current?.address ? current?.prefix : undefined);
    // An empty object leaves the item unchanged. After the end of the shown list, it has no
    // effect.
    if (address === undefined && prefix === undefined) continue;
    if (address !== undefined && hosts.includes(address)) {
      if (current?.address === address && prefix !== current.prefix) faults.push(hostAddressFault(index, address));
      continue;
    }
    if (address === undefined || prefix === undefined) {
      const second = property === 'IPv6StaticAddresses' ? 'PrefixLength' : 'SubnetMask';
      const name = address === undefined ? 'Address' : second;
      faults.push(withPointers(message('PropertyMissing', name), `#/${property}/${index}/${name}`));
      continue;
    }
    requested.push({ address, prefix, index });
  }
  // A shorter list without own addresses of the manager removes an address of the host, which is an error.
  const removed = shown[items.length];
  if (removed?.isOwn === false && requested.length === 0) faults.push(hostAddressFault(items.length, removed.address));
  return requested.length === 0 && hosts.length > 0 ? undefined : requested;
}

/** Returns an error if a gateway differs from that of the host, because the service changes no routes. */
function gatewayFault(
  list: AddressProperty,
  items: NonNullable<NetworkBody['IPv4Addresses']>,
  index: number,
  { name, ipv4Gateway }: ManagerInterface,
): Message | undefined {
  const gateway = items[index]?.Gateway;
  if (gateway === undefined || gateway === null || gateway === ipv4Gateway) return undefined;
  const actual = ipv4Gateway === null ? `${name} has no gateway` : `the gateway of ${name} is ${ipv4Gateway}`;
  const why = `This service does not change routes of the host: ${actual}.`;
  const fault = message('PropertyValueIncorrect', 'Gateway', gateway);
  return withPointers(withDetail(fault, why), `#/${list}/${index}/Gateway`);
}

function contradiction(first: string, second: string): Message {
  return withPointers(message('PropertyValueConflict', first, second), `#/${first}`, `#/${second}`);
}

function sameNetworks(a: readonly RequestedAddress[], b: readonly RequestedAddress[]): boolean {
  return (
    a.length === b.length && a.every(({ address, prefix }, at) => address === b[at]?.address && prefix === b[at].prefix)
  );
}

/** Returns the name servers for all managers: [] to use those of the host; undefined if the body has neither list. */
function requestedServers(
  { NameServers, StaticNameServers }: NetworkBody,
  { nameServers, ownNameServers }: ManagerView,
  faults: Message[],
): readonly string[] | undefined {
  const result = (sent: NonNullable<NetworkBody['NameServers']>, shown: readonly string[]): readonly string[] =>
    sent.flatMap((item, index) => {
      const server = typeof item === 'string' ? canonicalIp(item) : item === null ? undefined : shown[index];
      return server === undefined ? [] : [server];
    });
  const inUse = NameServers && result(NameServers, nameServers);
  const staticList = StaticNameServers && result(StaticNameServers, ownNameServers);
  const equalsHost = ownNameServers.length === 0 && inUse?.join() === nameServers.join();
  const requested = equalsHost ? [] : inUse;
  if (requested !== undefined && staticList !== undefined && requested.join() !== staticList.join())
    faults.push(contradiction('NameServers', 'StaticNameServers'));
  return staticList ?? requested;
}
