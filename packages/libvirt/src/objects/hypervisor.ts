import { setTimeout as delay } from 'node:timers/promises';
import { DomainStatsTypes } from '../constants/domain.js';
import { NODE_CPU_STATS_ALL_CPUS, NODE_MEMORY_STATS_ALL_CELLS } from '../constants/node.js';
import { Domain } from './domain.js';
import { DomainEvents } from './events.js';
import type { CallOptions, ConnectedOptions, Link, LinkState } from '../link/link.js';
import { openLink } from '../link/open-link.js';
import type { DomainCapabilitiesQuery, HypervisorOptions, OpenOptions } from './hypervisor-options.js';
import { Interface } from './interface.js';
import { Network } from './network.js';
import { nodeCpuStats, nodeInfo, nodeMemoryStats, type NodeInfo, type NodeStats } from './node.js';
import { connectProcedures } from '../protocol/connect.js';
import { domainProcedures } from '../protocol/domain.js';
import { interfaceProcedures } from '../protocol/interface.js';
import { networkProcedures } from '../protocol/network.js';
import type { DomainRef, StorageVolumeRef } from '../protocol/object.js';
import { storagePoolProcedures, storageVolumeProcedures } from '../protocol/storage.js';
import { type Parameters, toRecord } from '../protocol/typed-parameter.js';
import { StoragePool } from './storage-pool.js';
import { StorageVolume } from './storage-volume.js';

/** Statistics of one domain. */
export interface DomainStats {
  readonly domain: Domain;
  /**
   * Values by libvirt's names, such as `state.state`, `cpu.time` or `block.0.rd.bytes`. 64-bit values
   * are always bigint.
   */
  readonly parameters: Parameters;
}

/** How long `close` waits for event deregistrations. Short, because libvirtd may hang. */
const SETTLE_MS = 100;

/**
 * A libvirt host. It owns the connections, so close it after use. Methods have the names of
 * libvirt's functions without `virConnect` or `vir`. A method that fails rejects with a
 * {@link LibvirtError}.
 */
export class Hypervisor {
  readonly #link: Link;
  /** Events of all domains of the host. */
  readonly events: DomainEvents;
  #closing: Promise<void> | undefined;

  private constructor(link: Link) {
    this.#link = link;
    this.events = new DomainEvents(link);
  }

  /**
   * Connects to a host.
   * @param uri for example `qemu:///system` or `qemu+ssh://root@host/system`; see the README.
   * @throws {LibvirtError} INVALID_URI; NOT_CONNECTED if the first attempt fails; CALL_ABORTED.
   */
  static async open(uri: string, { signal, ...options }: OpenOptions = {}): Promise<Hypervisor> {
    const hypervisor = Hypervisor.connect(uri, options);
    try {
      await hypervisor.connected({ retry: false, ...(signal === undefined ? {} : { signal }) });
      return hypervisor;
    } catch (error) {
      await hypervisor.close();
      throw error;
    }
  }

  /**
   * Starts to connect and returns immediately, for a service that may start before libvirtd. The
   * client retries until `close`. Calls wait for a connection until their timeout.
   * @throws {LibvirtError} INVALID_URI.
   */
  static connect(uri: string, options: HypervisorOptions = {}): Hypervisor {
    return new Hypervisor(openLink(uri, options));
  }

  /**
   * State of the connection: calls are sent (`connected`), wait (`connecting`) or fail (`closed`).
   */
  get state(): LinkState {
    return this.#link.state;
  }

  /** Reason why there is no connection; null while connected and before the first failure. */
  get lastError(): Error | null {
    return this.#link.lastError;
  }

  /**
   * Waits for the connection.
   * @throws {LibvirtError} NOT_CONNECTED after `timeoutMs` (default: `connectTimeoutMs`) or, if
   *   `retry` is false, after the first failed attempt; CALL_ABORTED; LINK_CLOSED.
   */
  connected(options?: ConnectedOptions): Promise<void> {
    return this.#link.connected(options);
  }

  /**
   * Calls `listener` with each new {@link state}. When the state becomes `connected`, read
   * everything again, because events may have been lost.
   * @returns a function that removes the listener.
   */
  onStateChange(listener: (state: LinkState) => void): () => void {
    return this.#link.onStateChange(listener);
  }

  /**
   * Closes all connections and streams and rejects all running calls. If event deregistrations are
   * running, first waits for them for up to 0.1 s. At the end, waits for up to 3 s until libvirtd has
   * ended the streams. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (!this.events.isSettled)
      await Promise.race([this.events.settled(), delay(SETTLE_MS, undefined, { ref: false })]);
    await this.#link.close();
  }

  /** Returns the name of libvirt's hypervisor driver, such as `QEMU` or `TEST`. */
  getType(options?: CallOptions): Promise<string> {
    return this.#link.call(connectProcedures.getType, undefined, options);
  }

  /** Returns the version of the hypervisor (QEMU): major * 1,000,000 + minor * 1,000 + release. */
  getVersion(options?: CallOptions): Promise<number> {
    return this.#link.call(connectProcedures.getVersion, undefined, options);
  }

  /** Returns the version of libvirtd in the format of {@link getVersion}. */
  getLibVersion(options?: CallOptions): Promise<number> {
    return this.#link.call(connectProcedures.getLibVersion, undefined, options);
  }

  /** Returns the host name. */
  getHostname(options?: CallOptions): Promise<string> {
    return this.#link.call(connectProcedures.getHostname, undefined, options);
  }

  /** Returns the URI that libvirtd opened. */
  getUri(options?: CallOptions): Promise<string> {
    return this.#link.call(connectProcedures.getUri, undefined, options);
  }

  /** Returns the processors and the memory of the host. */
  nodeGetInfo(options?: CallOptions): Promise<NodeInfo> {
    return nodeInfo(this.#link, options);
  }

  /**
   * Returns CPU times since the start of the host in nanoseconds: `kernel`, `user`, `idle`, `iowait`.
   * @param cpu number of a CPU; default: all CPUs together.
   * @throws {LibvirtError} INVALID_ARG for an unknown CPU.
   */
  nodeGetCpuStats(cpu: number = NODE_CPU_STATS_ALL_CPUS, options?: CallOptions): Promise<NodeStats> {
    return nodeCpuStats(this.#link, cpu, options);
  }

  /**
   * Returns the memory of the host in KiB: `total`, `free`, `buffers`, `cached`. A single cell has only
   * `total` and `free`.
   * @param cell number of a NUMA cell; default: all cells together.
   * @throws {LibvirtError} NO_SUPPORT with the test driver.
   */
  nodeGetMemoryStats(cell: number = NODE_MEMORY_STATS_ALL_CELLS, options?: CallOptions): Promise<NodeStats> {
    return nodeMemoryStats(this.#link, cell, options);
  }

  /** Returns the number of active domains: those for which `Domain.isActive` returns true. */
  numOfDomains(options?: CallOptions): Promise<number> {
    return this.#link.call(connectProcedures.numOfDomains, undefined, options);
  }

  /** Returns the capabilities of the host as XML. */
  getCapabilities(options?: CallOptions): Promise<string> {
    return this.#link.call(connectProcedures.getCapabilities, undefined, options);
  }

  /**
   * Returns the capabilities of a type of domain as XML.
   * @throws {LibvirtError} NO_SUPPORT with the test driver.
   */
  getDomainCapabilities(query: DomainCapabilitiesQuery = {}, options?: CallOptions): Promise<string> {
    const args = {
      emulatorbin: query.emulatorBinary ?? null,
      arch: query.arch ?? null,
      machine: query.machine ?? null,
      virttype: query.virtType ?? null,
      flags: 0,
    };
    return this.#link.call(connectProcedures.getDomainCapabilities, args, options);
  }

  /** Returns the domains. @param flags `ConnectListAllDomainsFlags`; 0: all. */
  async listAllDomains(flags = 0, options?: CallOptions): Promise<readonly Domain[]> {
    const { domains } = await this.#link.call(connectProcedures.listAllDomains, { needResults: 1, flags }, options);
    return domains.map((domain) => new Domain(this.#link, domain));
  }

  /** Returns the running domain with the given id. @throws {LibvirtError} NO_DOMAIN. */
  async domainLookupById(id: number, options?: CallOptions): Promise<Domain> {
    return this.#domain(await this.#link.call(domainProcedures.lookupById, { id }, options));
  }

  /** Returns the domain with the given name. @throws {LibvirtError} NO_DOMAIN. */
  async domainLookupByName(name: string, options?: CallOptions): Promise<Domain> {
    return this.#domain(await this.#link.call(domainProcedures.lookupByName, { name }, options));
  }

  /**
   * Returns the domain with the given UUID.
   * @param uuid with or without hyphens, in upper or lower case.
   * @throws {LibvirtError} NO_DOMAIN; PROTOCOL if the text is not a UUID.
   */
  async domainLookupByUuid(uuid: string, options?: CallOptions): Promise<Domain> {
    return this.#domain(await this.#link.call(domainProcedures.lookupByUuid, { uuid }, options));
  }

  /**
   * Creates a definition, or replaces the definition with the same name and UUID.
   * @param flags `DomainDefineFlags`.
   * @throws {LibvirtError} XML_INVALID_SCHEMA with VALIDATE; OPERATION_FAILED if another domain has
   *   the name or the UUID.
   */
  async domainDefineXml(xml: string, flags = 0, options?: CallOptions): Promise<Domain> {
    return this.#domain(await this.#link.work(null, domainProcedures.defineXmlFlags, { xml, flags }, options));
  }

  /**
   * Starts a domain from the given XML. If libvirt has no stored definition of the domain, the domain
   * is transient: libvirt forgets it when it stops.
   * @param flags `DomainCreateFlags`.
   */
  async domainCreateXml(xml: string, flags = 0, options?: CallOptions): Promise<Domain> {
    return this.#domain(await this.#link.work(null, domainProcedures.createXml, { xml, flags }, options));
  }

  /**
   * Returns statistics of all domains that `flags` select, in one call. STATE alone is fast. Other
   * groups wait for every QEMU, also for a hung QEMU, and use the work connection.
   * @param stats `DomainStatsTypes`; 0: all groups.
   * @param flags `ConnectGetAllDomainStatsFlags`; 0: all domains.
   */
  getAllDomainStats(stats: number, flags = 0, options?: CallOptions): Promise<readonly DomainStats[]> {
    return this.domainListGetStats([], stats, flags, options);
  }

  /**
   * Returns statistics like {@link getAllDomainStats} for the given domains. An empty list means
   * all domains.
   */
  async domainListGetStats(
    domains: readonly DomainRef[],
    stats: number,
    flags = 0,
    options?: CallOptions,
  ): Promise<readonly DomainStats[]> {
    const args = { domains, stats, flags };
    const records =
      stats === DomainStatsTypes.STATE
        ? await this.#link.call(connectProcedures.getAllDomainStats, args, options)
        : await this.#link.work(null, connectProcedures.getAllDomainStats, args, options);
    return records.map(({ domain, parameters }) => ({
      domain: this.#domain(domain),
      parameters: toRecord(parameters),
    }));
  }

  /** Returns the storage pools. @param flags `ConnectListAllStoragePoolsFlags`; 0: all. */
  async listAllStoragePools(flags = 0, options?: CallOptions): Promise<readonly StoragePool[]> {
    const { pools } = await this.#link.call(connectProcedures.listAllStoragePools, { needResults: 1, flags }, options);
    return pools.map((pool) => new StoragePool(this.#link, pool));
  }

  /** Returns the pool with the given name. @throws {LibvirtError} NO_STORAGE_POOL. */
  async storagePoolLookupByName(name: string, options?: CallOptions): Promise<StoragePool> {
    return new StoragePool(this.#link, await this.#link.call(storagePoolProcedures.lookupByName, { name }, options));
  }

  /** Returns the pool with the given UUID. @throws {LibvirtError} NO_STORAGE_POOL; PROTOCOL for another text. */
  async storagePoolLookupByUuid(uuid: string, options?: CallOptions): Promise<StoragePool> {
    return new StoragePool(this.#link, await this.#link.call(storagePoolProcedures.lookupByUuid, { uuid }, options));
  }

  /** Returns the pool of a volume. @throws {LibvirtError} NO_STORAGE_POOL. */
  async storagePoolLookupByVolume(volume: StorageVolumeRef, options?: CallOptions): Promise<StoragePool> {
    return new StoragePool(
      this.#link,
      await this.#link.call(storagePoolProcedures.lookupByVolume, { volume }, options),
    );
  }

  /**
   * Returns the pool with the given directory.
   * @throws {LibvirtError} NO_STORAGE_POOL if no active pool has it.
   */
  async storagePoolLookupByTargetPath(path: string, options?: CallOptions): Promise<StoragePool> {
    return new StoragePool(
      this.#link,
      await this.#link.call(storagePoolProcedures.lookupByTargetPath, { path }, options),
    );
  }

  /** Creates or replaces the definition of a pool. @param flags `StoragePoolDefineFlags`. */
  async storagePoolDefineXml(xml: string, flags = 0, options?: CallOptions): Promise<StoragePool> {
    return new StoragePool(
      this.#link,
      await this.#link.work(null, storagePoolProcedures.defineXml, { xml, flags }, options),
    );
  }

  /** Starts a transient pool. @param flags `StoragePoolCreateFlags`. */
  async storagePoolCreateXml(xml: string, flags = 0, options?: CallOptions): Promise<StoragePool> {
    return new StoragePool(
      this.#link,
      await this.#link.work(null, storagePoolProcedures.createXml, { xml, flags }, options),
    );
  }

  /** Returns the volume with the given key. @throws {LibvirtError} NO_STORAGE_VOL. */
  async storageVolLookupByKey(key: string, options?: CallOptions): Promise<StorageVolume> {
    return new StorageVolume(this.#link, await this.#link.call(storageVolumeProcedures.lookupByKey, { key }, options));
  }

  /**
   * Returns the volume with the given path.
   * @throws {LibvirtError} NO_STORAGE_VOL if no active pool contains the path, or if the file is
   *   newer than the last refresh.
   */
  async storageVolLookupByPath(path: string, options?: CallOptions): Promise<StorageVolume> {
    return new StorageVolume(
      this.#link,
      await this.#link.call(storageVolumeProcedures.lookupByPath, { path }, options),
    );
  }

  /** Returns the networks. @param flags `ConnectListAllNetworksFlags`; 0: all. */
  async listAllNetworks(flags = 0, options?: CallOptions): Promise<readonly Network[]> {
    const { networks } = await this.#link.call(connectProcedures.listAllNetworks, { needResults: 1, flags }, options);
    return networks.map((network) => new Network(this.#link, network));
  }

  /** Returns a network interface of the host. @throws {LibvirtError} NO_INTERFACE. */
  async interfaceLookupByName(name: string, options?: CallOptions): Promise<Interface> {
    return new Interface(this.#link, await this.#link.call(interfaceProcedures.lookupByName, { name }, options));
  }

  /**
   * Returns a network interface of the host.
   * @param mac for example `00:16:3e:12:34:56`.
   * @throws {LibvirtError} NO_INTERFACE, MULTIPLE_INTERFACES.
   */
  async interfaceLookupByMacString(mac: string, options?: CallOptions): Promise<Interface> {
    return new Interface(this.#link, await this.#link.call(interfaceProcedures.lookupByMacString, { mac }, options));
  }

  /** Returns the network with the given name. @throws {LibvirtError} NO_NETWORK. */
  async networkLookupByName(name: string, options?: CallOptions): Promise<Network> {
    return new Network(this.#link, await this.#link.call(networkProcedures.lookupByName, { name }, options));
  }

  /** Returns the network with the given UUID. @throws {LibvirtError} NO_NETWORK; PROTOCOL for another text. */
  async networkLookupByUuid(uuid: string, options?: CallOptions): Promise<Network> {
    return new Network(this.#link, await this.#link.call(networkProcedures.lookupByUuid, { uuid }, options));
  }

  /** Creates or replaces the definition of a network. */
  async networkDefineXml(xml: string, options?: CallOptions): Promise<Network> {
    return new Network(this.#link, await this.#link.work(null, networkProcedures.defineXml, { xml }, options));
  }

  /** Starts a transient network. */
  async networkCreateXml(xml: string, options?: CallOptions): Promise<Network> {
    return new Network(this.#link, await this.#link.work(null, networkProcedures.createXml, { xml }, options));
  }

  #domain(ref: DomainRef): Domain {
    return new Domain(this.#link, ref);
  }
}
