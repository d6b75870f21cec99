/** What libvirt knows of a running guest's network: leases, the guest agent, and the speed of the host's interfaces. */
import {
  DomainGetHostnameFlags,
  DomainInterfaceAddressesSource,
  IpAddrType,
  type DomainInterface,
  type NetworkDhcpLease,
} from '@rackless/libvirt';
import type { InterfaceSnapshot, SystemSnapshot } from '../driver.js';
import type { GuestAddress, InterfaceFacts, NetworkFacts } from '../guest-network.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';
import { RevalidatingCache } from './revalidating-cache.js';
import { attribute, child, childElements, parseXml } from './xml/parse.js';

/** A GET may wait this long, once. */
const WAIT_MS = 250;

/**
 * An agent that does not answer keeps libvirt waiting for 5 s, and one call of a machine's at a time goes to libvirt: what is done
 * to the machine meanwhile waits no longer than this.
 */
const AGENT_TIMEOUT_MS = 500;

const AGENT_CHANNEL = 'org.qemu.guest_agent.0';

/** What the host knows of an interface, whatever the guest does. */
interface HostFacts {
  readonly leases: readonly NetworkDhcpLease[];
  readonly domainName: string | null;
  readonly speedMbps: number | null;
}

/** What the guest says. */
interface GuestFacts {
  readonly interfaces: readonly DomainInterface[];
  readonly hostName: string | null;
}

const nothing: NetworkFacts = new Map();

/** Asks leases and guest agents, and keeps their answers for a while. */
export class GuestNetworkReader {
  readonly #host: Host;
  readonly #hostFacts = new RevalidatingCache<HostFacts>({
    waitMs: WAIT_MS,
    freshMs: 5_000,
    staleMs: 30_000,
    retryMs: 5_000,
  });
  readonly #guestFacts = new RevalidatingCache<GuestFacts>({
    waitMs: WAIT_MS,
    freshMs: 15_000,
    staleMs: 60_000,
    retryMs: 60_000,
  });

  constructor(host: Host) {
    this.#host = host;
  }

  /** @param system the machine's own snapshot. Never rejects: what can not be had is not known. */
  async read(machine: Machine, system: SystemSnapshot): Promise<NetworkFacts> {
    if (system.state === 'shutoff' || system.state === 'crashed') return nothing;
    const { uuid, interfaces } = system;
    const [guest, ...host] = await Promise.all([
      this.#guestFacts.get(uuid, () => this.#askGuest(machine)),
      ...interfaces.map((nic) =>
        this.#hostFacts.get(`${uuid} ${nic.mac} ${nic.type} ${nic.source ?? ''}`, () => this.#askHost(nic)),
      ),
    ]);
    return new Map(interfaces.map(({ mac }, index) => [mac, merge(mac, host[index], guest)]));
  }

  /** Machines that are gone are not kept. */
  retain(uuids: ReadonlySet<string>): void {
    const isKept = (key: string): boolean => uuids.has(key.slice(0, 36));
    this.#guestFacts.retain(isKept);
    this.#hostFacts.retain(isKept);
  }

  async #askHost({ mac, type, source }: InterfaceSnapshot): Promise<HostFacts> {
    const { hypervisor, timeoutMs } = this.#host;
    const speedMbps = type === 'direct' && source !== null ? await this.#speedOf(source) : null;
    if (type !== 'network' || source === null) return { leases: [], domainName: null, speedMbps };
    const network = await hypervisor.networkLookupByName(source, { timeoutMs });
    const xml = await network.getXmlDesc(0, { timeoutMs });
    const { root } = parseXml(xml);
    // A network that only names a bridge of the host leases nothing, and libvirt's test driver can not tell.
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
      // A libvirt without the driver for interfaces, or one that is gone: there is nobody else to ask.
      return null;
    }
  }

  async #askGuest({ domain }: Machine): Promise<GuestFacts> {
    const { timeoutMs } = this.#host;
    // Where no agent has said hello, or the machine has no channel for one, nobody is asked and nothing waits.
    if (!hasAgent(await domain.getXmlDesc(0, { timeoutMs }))) return { interfaces: [], hostName: null };
    const options = { timeoutMs: AGENT_TIMEOUT_MS };
    const interfaces = await domain.interfaceAddresses(DomainInterfaceAddressesSource.AGENT, options);
    const hostName = await domain.getHostname(DomainGetHostnameFlags.AGENT, options).catch(() => null);
    return { interfaces, hostName };
  }
}

/** Whether an agent has connected to its channel. */
function hasAgent(liveXml: string): boolean {
  const devices = child(parseXml(liveXml).root, 'devices');
  return childElements(devices, 'channel').some((channel) => {
    const target = child(channel, 'target');
    return attribute(target, 'name') === AGENT_CHANNEL && attribute(target, 'state') === 'connected';
  });
}

/** `0` and `4294967295` are how the kernel says that it does not know. */
function readSpeed(text: string | null): number | null {
  const speed = Number(text ?? 0);
  return Number.isInteger(speed) && speed > 0 && speed < 2 ** 31 ? speed : null;
}

/** The guest's own addresses where it tells them, else those that were leased to it and are not over. */
function merge(mac: string, host: HostFacts | undefined, guest: GuestFacts | undefined): InterfaceFacts {
  const leases = (host?.leases ?? []).filter(({ expiryTimeSeconds: end }) => end === 0 || end * 1000 > Date.now());
  const own = guest?.interfaces.find(({ hwaddr }) => hwaddr?.toLowerCase() === mac)?.addresses;
  const leased = new Set(leases.map(({ address }) => address));
  const all = own ?? leases;
  const of = (wanted: number): readonly GuestAddress[] =>
    all.flatMap(({ type, address, prefix }) =>
      type === wanted ? [{ address, prefix, origin: leased.has(address) ? ('dhcp' as const) : null }] : [],
    );
  return {
    ipv4: of(IpAddrType.IPV4),
    ipv6: of(IpAddrType.IPV6),
    hostName: guest?.hostName ?? leases.find(({ hostname }) => hostname !== null && hostname !== '')?.hostname ?? null,
    domainName: host?.domainName ?? null,
    speedMbps: host?.speedMbps ?? null,
  };
}
