/** Reads the network of a running guest: leases, guest agent, and the speed of host interfaces. */
import {
  DomainGetHostnameFlags,
  DomainInterfaceAddressesSource,
  IpAddrType,
  type DomainInterface,
  type NetworkDhcpLease,
} from '@rackless/libvirt';
import type { InterfaceSnapshot } from '../../snapshot/hardware-snapshot.js';
import type { CompleteSnapshot } from '../../snapshot/system-snapshot.js';
import type { GuestAddress, InterfaceFacts, NetworkFacts } from '../../guest-network.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { RevalidatingCache } from './revalidating-cache.js';
import { parseXml } from '../xml/parse.js';
import { attribute, child, childElements } from '../xml/tree.js';

/** Maximum time that a reader waits if there is no cached answer. */
const WAIT_MS = 250;

/**
 * Timeout of a call to the guest agent. libvirt would wait 5 s for an agent that does not answer. The libvirt
 * client queues changes of the machine behind this call, so they would wait too.
 */
const AGENT_TIMEOUT_MS = 500;

const AGENT_CHANNEL = 'org.qemu.guest_agent.0';

/** The answer of the host about an interface. */
interface HostAnswer {
  readonly leases: readonly NetworkDhcpLease[];
  readonly domainName: string | null;
  readonly speedMbps: number | null;
}

/** The answer of the guest agent. */
interface GuestAnswer {
  readonly interfaces: readonly DomainInterface[];
  readonly hostName: string | null;
}

const nothing: NetworkFacts = new Map();

/** Reads leases and guest agents, and caches the answers. */
export class GuestNetworkReader {
  readonly #host: Host;
  readonly #hostAnswers = new RevalidatingCache<HostAnswer>({
    waitMs: WAIT_MS,
    freshMs: 5_000,
    staleMs: 30_000,
    retryMs: 5_000,
  });
  readonly #guestAnswers = new RevalidatingCache<GuestAnswer>({
    waitMs: WAIT_MS,
    freshMs: 15_000,
    staleMs: 60_000,
    retryMs: 60_000,
  });

  constructor(host: Host) {
    this.#host = host;
  }

  /**
   * Returns the known facts by MAC address; an empty map if the machine is off or has crashed. Never rejects.
   * @param system the snapshot of the machine.
   */
  async read(machine: Machine, system: CompleteSnapshot): Promise<NetworkFacts> {
    if (system.state === 'shutoff' || system.state === 'crashed') return nothing;
    const { uuid, interfaces } = system;
    const [guest, ...host] = await Promise.all([
      this.#guestAnswers.get(uuid, () => this.#askGuest(machine)),
      ...interfaces.map((nic) =>
        this.#hostAnswers.get(`${uuid} ${nic.mac} ${nic.type} ${nic.source ?? ''}`, () => this.#askHost(nic)),
      ),
    ]);
    return new Map(interfaces.map(({ mac }, index) => [mac, merge(mac, host[index], guest)]));
  }

  /** Forgets machines that do not exist anymore. */
  retain(uuids: ReadonlySet<string>): void {
    const isKnown = (key: string): boolean => uuids.has(key.slice(0, 36));
    this.#guestAnswers.retain(isKnown);
    this.#hostAnswers.retain(isKnown);
  }

  async #askHost({ mac, type, source }: InterfaceSnapshot): Promise<HostAnswer> {
    const { hypervisor, timeoutMs } = this.#host;
    const speedMbps = type === 'direct' && source !== null ? await this.#speedOf(source) : null;
    if (type !== 'network' || source === null) return { leases: [], domainName: null, speedMbps };
    const network = await hypervisor.networkLookupByName(source, { timeoutMs });
    const xml = await network.getXmlDesc(0, { timeoutMs });
    const { root } = parseXml(xml);
    // A network that only names a host bridge has no leases, and libvirt's test driver does not support the
    // call. So a failed call means that there are none.
    const leases = await network.getDhcpLeases(mac, { timeoutMs }).catch(() => []);
    return { leases, domainName: attribute(child(root, 'domain'), 'name'), speedMbps };
  }

  async #speedOf(name: string): Promise<number | null> {
    const { hypervisor, timeoutMs } = this.#host;
    try {
      const found = await hypervisor.interfaceLookupByName(name, { timeoutMs });
      const { root } = parseXml(await found.getXmlDesc(0, { timeoutMs }));
      return readSpeed(attribute(child(root, 'link'), 'speed'));
    } catch {
      // libvirt has no interface driver, or the interface is gone: the speed is unknown.
      return null;
    }
  }

  async #askGuest({ domain }: Machine): Promise<GuestAnswer> {
    const { timeoutMs } = this.#host;
    // Does not call a guest without a connected agent, because the call would wait.
    if (!hasAgent(await domain.getXmlDesc(0, { timeoutMs }))) return { interfaces: [], hostName: null };
    const options = { timeoutMs: AGENT_TIMEOUT_MS };
    const interfaces = await domain.interfaceAddresses(DomainInterfaceAddressesSource.AGENT, options);
    const hostName = await domain.getHostname(DomainGetHostnameFlags.AGENT, options).catch(() => null);
    return { interfaces, hostName };
  }
}

/** Returns whether an agent is connected to its channel. */
function hasAgent(liveXml: string): boolean {
  const devices = child(parseXml(liveXml).root, 'devices');
  return childElements(devices, 'channel').some((channel) => {
    const target = child(channel, 'target');
    return attribute(target, 'name') === AGENT_CHANNEL && attribute(target, 'state') === 'connected';
  });
}

/** Returns a speed in Mbit/s; null if it is unknown. The kernel reports `0` or `4294967295` for an unknown speed. */
function readSpeed(text: string | null): number | null {
  const speed = Number(text ?? 0);
  return Number.isInteger(speed) && speed > 0 && speed < 2 ** 31 ? speed : null;
}

/**
 * Merges the answers about one interface. The addresses are those that the guest agent reports. If no agent
 * reports the interface, they are those of the interface's leases that have not expired.
 */
function merge(mac: string, host: HostAnswer | undefined, guest: GuestAnswer | undefined): InterfaceFacts {
  const leases = (host?.leases ?? []).filter(({ expiryTimeSeconds: end }) => end === 0 || end * 1000 > Date.now());
  const own = guest?.interfaces.find(({ hwaddr }) => hwaddr?.toLowerCase() === mac)?.addresses;
  const leased = new Set(leases.map(({ address }) => address));
  const all = own ?? leases;
  const ofType = (wanted: number): readonly GuestAddress[] =>
    all.flatMap(({ type, address, prefix }) =>
      type === wanted ? [{ address, prefix, origin: leased.has(address) ? ('dhcp' as const) : null }] : [],
    );
  return {
    ipv4: ofType(IpAddrType.IPV4),
    ipv6: ofType(IpAddrType.IPV6),
    hostName: guest?.hostName ?? leases.find(({ hostname }) => hostname !== null && hostname !== '')?.hostname ?? null,
    domainName: host?.domainName ?? null,
    speedMbps: host?.speedMbps ?? null,
  };
}
