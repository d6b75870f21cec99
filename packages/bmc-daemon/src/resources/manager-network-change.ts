/** A PATCH of a manager's EthernetInterface: what it asks for, by Redfish's rules of arrays, and what is answered where it can not be. */
import { z } from 'zod';
import type { HostAddress } from '../host-network.js';
import { canonicalIp, prefixOfMask, type IpNetwork } from '../ip-network.js';
import type { ManagerInterface, ManagerView } from '../manager-network/manager-view.js';
import { NetworkChangeError, type NetworkChange, type NetworkFault } from '../manager-network/network-plan.js';
import { RedfishError } from '../redfish/errors.js';
import { about, message, messageStatus, withDetail, type Message } from '../redfish/messages.js';
import { subnetMask } from './ethernet-interface.js';

/** Of one list. */
const MOST = 16;

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/** Clients take a name for an address that ends in a number, be it a hexadecimal one (URL Standard, 3.5), and for themselves this one. */
const lastLabel = `(?!(?:\\d+|0x[0-9a-f]*|localhost)$)${label}`;
/** RFC 1123 §2.1. */
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

/** DSP0266, PATCH of arrays: null removes, an empty object keeps, and what is not sent is cut off. */
const listOf = <Item extends z.ZodType>(item: Item) => z.array(item.nullable()).max(MOST);

const ipv4List = listOf(
  z.strictObject({
    Address: ipv4.optional(),
    SubnetMask: mask.optional(),
    Gateway: ipv4.nullable().optional(),
    // Read-only by the schema; clients of older controllers send it along.
    AddressOrigin: z.literal('Static').optional(),
  }),
);
const ipv6List = listOf(
  z.strictObject({ Address: ipv6.optional(), PrefixLength: z.number().int().min(1).max(128).optional() }),
);
const serverList = listOf(z.union([nameServer, z.strictObject({})]));

/** What a PATCH takes. */
export const networkBody = z.strictObject({
  HostName: hostName.nullable().optional(),
  FQDN: fqdn.nullable().optional(),
  NameServers: serverList.optional(),
  StaticNameServers: serverList.optional(),
  IPv4Addresses: ipv4List.optional(),
  IPv4StaticAddresses: ipv4List.optional(),
  IPv6StaticAddresses: ipv6List.optional(),
});
export type NetworkBody = z.infer<typeof networkBody>;

type AddressProperty = 'IPv4Addresses' | 'IPv4StaticAddresses' | 'IPv6StaticAddresses';

/** An address as a client asks for it, with the place where it does. */
interface Asked extends IpNetwork {
  readonly index: number;
}

/** What a body comes to, and where each of its addresses stands. */
export interface AskedNetwork {
  readonly change: NetworkChange;
  /** The property, and the places in it, of the addresses of a family. */
  readonly places: Readonly<Partial<Record<'ipv4' | 'ipv6', readonly [AddressProperty, readonly number[]]>>>;
}

/**
 * Works out what a body asks for.
 * @throws {RedfishError} with every fault that can be told without looking at the host.
 */
export function askedNetwork(body: NetworkBody, view: ManagerView, port: ManagerInterface): AskedNetwork {
  const faults: Message[] = [];
  const { HostName, FQDN, IPv4Addresses, IPv4StaticAddresses, IPv6StaticAddresses } = body;
  const four = (property: AddressProperty, list: NetworkBody['IPv4Addresses'], present: readonly Present[]) =>
    list === undefined
      ? undefined
      : askedList(property, list.map(ipv4Item), present, faults, (at) => gatewayFault(property, list, at, port));
  const inUse = four('IPv4Addresses', IPv4Addresses, port.ipv4);
  const fixed = four('IPv4StaticAddresses', IPv4StaticAddresses, port.ownIpv4.map(owned));
  const six =
    IPv6StaticAddresses === undefined
      ? undefined
      : askedList('IPv6StaticAddresses', IPv6StaticAddresses.map(ipv6Item), port.ownIpv6.map(owned), faults);
  if (inUse !== undefined && fixed !== undefined && !sameNetworks(inUse, fixed))
    faults.push(contradiction('IPv4Addresses', 'IPv4StaticAddresses'));
  const nameServers = askedServers(body, view, faults);
  if (faults.length > 0) throw refusal(faults);

  const ipv4 = fixed ?? inUse;
  const property = fixed === undefined ? 'IPv4Addresses' : 'IPv4StaticAddresses';
  const networks = (list: readonly Asked[]) => list.map(({ address, prefix }) => ({ address, prefix }));
  const places = (list: readonly Asked[]) => list.map(({ index }) => index);
  return {
    change: {
      ...(HostName === undefined ? {} : { hostName: HostName }),
      ...(FQDN === undefined ? {} : { fqdn: FQDN }),
      ...(ipv4 === undefined && six === undefined
        ? {}
        : {
            addresses: {
              device: port.name,
              ...(ipv4 === undefined ? {} : { ipv4: networks(ipv4) }),
              ...(six === undefined ? {} : { ipv6: networks(six) }),
            },
          }),
      ...(nameServers === undefined ? {} : { nameServers }),
    },
    places: {
      ...(ipv4 === undefined ? {} : { ipv4: [property, places(ipv4)] as const }),
      ...(six === undefined ? {} : { ipv6: ['IPv6StaticAddresses', places(six)] as const }),
    },
  };
}

/** What a client reads of a change that could not be made. */
export function describeFaults({ faults, cause }: NetworkChangeError, { change, places }: AskedNetwork): RedfishError {
  return refusal(
    faults.map((fault) => describe(fault, change, places)),
    cause,
  );
}

function describe(fault: NetworkFault, change: NetworkChange, places: AskedNetwork['places']): Message {
  const { of, kind, why, holder = '', index = -1, part } = fault;
  const detail = (subject: Message, pointer: string): Message =>
    about(withDetail(subject, `${why.charAt(0).toUpperCase()}${why.slice(1)}.`), `#/${pointer}`);
  if (of === 'hostName' || of === 'fqdn') {
    const property = of === 'hostName' ? 'HostName' : 'FQDN';
    return detail(refused(kind, property, change[of] ?? '', holder), property);
  }
  const [list, indexes] = places[of] ?? [of === 'ipv4' ? 'IPv4StaticAddresses' : 'IPv6StaticAddresses', []];
  const asked = change.addresses?.[of]?.[index];
  if (asked === undefined) return detail(refused(kind, list, '', holder), list);
  const prefixName = of === 'ipv4' ? 'SubnetMask' : 'PrefixLength';
  const prefixValue = of === 'ipv4' ? subnetMask(asked.prefix) : String(asked.prefix);
  const [name, value] = part === 'prefix' ? [prefixName, prefixValue] : ['Address', asked.address];
  const place = `${list}/${indexes[index] ?? index}`;
  return detail(refused(kind, name, value, holder), `${place}/${name}`);
}

function refused(kind: NetworkFault['kind'], property: string, value: string, holder: string): Message {
  switch (kind) {
    case 'invalid':
      return message('PropertyValueIncorrect', property, value);
    case 'taken':
      return message('PropertyValueResourceConflict', property, value, `/redfish/v1/Managers/${holder}`);
    case 'unable':
      return message('PropertyValueExternalConflict', property, value);
  }
}

/** 400 before 409: what the client has to correct comes first. */
function refusal(faults: readonly Message[], cause?: unknown): RedfishError {
  return new RedfishError(Math.min(...faults.map(messageStatus)), faults, {}, cause);
}

interface Item {
  readonly address?: string | undefined;
  readonly prefix?: number | undefined;
}
interface Present extends HostAddress {
  readonly isOwn: boolean;
}

const owned = (one: IpNetwork): Present => ({ ...one, isOwn: true });

function ipv4Item(item: z.infer<typeof ipv4List>[number]): Item | null {
  if (item === null) return null;
  return { address: item.Address, prefix: item.SubnetMask === undefined ? undefined : prefixOfMask(item.SubnetMask) };
}

function ipv6Item(item: z.infer<typeof ipv6List>[number]): Item | null {
  if (item === null) return null;
  return { address: item.Address === undefined ? undefined : canonicalIp(item.Address), prefix: item.PrefixLength };
}

/**
 * The manager's own addresses that a list comes to. What is the host's can be named and kept, and is nobody's to change.
 * @returns undefined where the list keeps what is the host's, and nothing else.
 */
function askedList(
  property: AddressProperty,
  items: readonly (Item | null)[],
  present: readonly Present[],
  faults: Message[],
  furtherFault: (index: number) => Message | undefined = () => undefined,
): readonly Asked[] | undefined {
  const asked: Asked[] = [];
  // As long as the manager has none of its own, the list is that of the host's.
  const hosts = present.filter(({ isOwn }) => !isOwn).map(({ address }) => address);
  const hostsOwn = (index: number, address: string): Message => {
    const pointer = `${property}/${index}`;
    const why = `${address} is the address of the host, which is not changed.`;
    return about(withDetail(message('PropertyValueError', property), why), `#/${pointer}`);
  };
  for (const [index, item] of items.entries()) {
    const now = present[index];
    const further = item === null ? undefined : furtherFault(index);
    if (further !== undefined) faults.push(further);
    if (item === null) {
      if (now?.isOwn === false) faults.push(hostsOwn(index, now.address));
      continue;
    }
    const address = item.address ?? now?.address;
    const prefix =
      item.prefix ?? (item.address === undefined || item.address === now?.address ? now?.prefix : undefined);
    // An empty object keeps what is there; behind the end of the list that is nothing.
    if (address === undefined && prefix === undefined) continue;
    if (address !== undefined && hosts.includes(address)) {
      if (now?.address === address && prefix !== now.prefix) faults.push(hostsOwn(index, address));
      continue;
    }
    if (address === undefined || prefix === undefined) {
      const second = property === 'IPv6StaticAddresses' ? 'PrefixLength' : 'SubnetMask';
      const name = address === undefined ? 'Address' : second;
      faults.push(about(message('PropertyMissing', name), `#/${property}/${index}/${name}`));
      continue;
    }
    asked.push({ address, prefix, index });
  }
  // Cut off without anything in its place.
  const cut = present[items.length];
  if (cut?.isOwn === false && asked.length === 0) faults.push(hostsOwn(items.length, cut.address));
  return asked.length === 0 && hosts.length > 0 ? undefined : asked;
}

/** Routes are the host's: a gateway can be said, and not changed. */
function gatewayFault(
  list: AddressProperty,
  items: NonNullable<NetworkBody['IPv4Addresses']>,
  index: number,
  { name, ipv4Gateway }: ManagerInterface,
): Message | undefined {
  const gateway = items[index]?.Gateway;
  if (gateway === undefined || gateway === null || gateway === ipv4Gateway) return undefined;
  const present = ipv4Gateway === null ? `${name} has none` : `that of ${name} is ${ipv4Gateway}`;
  const why = `Routes are the host's and are not changed: ${present}.`;
  return about(withDetail(message('PropertyValueIncorrect', 'Gateway', gateway), why), `#/${list}/${index}/Gateway`);
}

function contradiction(one: string, other: string): Message {
  return about(message('PropertyValueConflict', one, other), `#/${one}`, `#/${other}`);
}

function sameNetworks(a: readonly Asked[], b: readonly Asked[]): boolean {
  return a.length === b.length && a.every((one, at) => one.address === b[at]?.address && one.prefix === b[at].prefix);
}

/** The name servers of the service; those of the host, said again, are none of its own. */
function askedServers(
  { NameServers, StaticNameServers }: NetworkBody,
  { nameServers, ownNameServers }: ManagerView,
  faults: Message[],
): readonly string[] | undefined {
  const result = (sent: NonNullable<NetworkBody['NameServers']>, present: readonly string[]): readonly string[] =>
    sent.flatMap((item, index) => {
      const server = typeof item === 'string' ? canonicalIp(item) : item === null ? undefined : present[index];
      return server === undefined ? [] : [server];
    });
  const inUse = NameServers && result(NameServers, nameServers);
  const fixed = StaticNameServers && result(StaticNameServers, ownNameServers);
  const isHosts = ownNameServers.length === 0 && inUse?.join() === nameServers.join();
  const asked = isHosts ? [] : inUse;
  if (asked !== undefined && fixed !== undefined && asked.join() !== fixed.join())
    faults.push(contradiction('NameServers', 'StaticNameServers'));
  return fixed ?? asked;
}
