import { setTimeout as delay } from 'node:timers/promises';
import { DomainStatsTypes } from './constants/domain.js';
import { Domain } from './domain.js';
import { DomainEvents } from './events.js';
import { type CallOptions, type ConnectedOptions, type Link, type LinkState, openLink } from './link.js';
import type { DomainCapabilitiesQuery, HypervisorOptions, OpenOptions } from './hypervisor-options.js';
import { Interface } from './interface.js';
import { Network } from './network.js';
import { connectProcedures } from './protocol/connect.js';
import { domainProcedures } from './protocol/domain.js';
import { interfaceProcedures } from './protocol/interface.js';
import { networkProcedures } from './protocol/network.js';
import type { DomainRef, StorageVolumeRef } from './protocol/object.js';
import { storagePoolProcedures, storageVolumeProcedures } from './protocol/storage.js';
import { type Parameters, toRecord } from './protocol/typed-parameter.js';
import { StoragePool } from './storage-pool.js';
import { StorageVolume } from './storage-volume.js';

/** Statistics of one domain. */
export interface DomainStats {
  readonly domain: Domain;
  /** By libvirt's names, `state.state`, `cpu.time`, `block.0.rd.bytes`; 64-bit values are bigint, always. */
  readonly parameters: Parameters;
}

/** How long `close` waits for a libvirtd that may be hung; a process has 0.2 s to leave. */
const SETTLE_MS = 100;

/**
 * One libvirt host. It owns the connections and must be closed. Methods are libvirt's functions without `vir`, those of the
 * connection without `virConnect`; all reject with a {@link LibvirtError}.
 */
export class Hypervisor {
  readonly #link: Link;
  /** Events of all its domains. */
  readonly events: DomainEvents;
  #closing: Promise<void> | undefined;

  private constructor(link: Link) {
    this.#link = link;
    this.events = new DomainEvents(link);
  }

  /**
   * Connects to a host.
   * @param uri `qemu:///system`, `qemu:///session`, `test:///default`, `qemu+unix:///system?socket=/path`.
   * @throws {LibvirtError} INVALID_URI; NOT_CONNECTED when the first attempt fails.
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
   * Begins to connect and returns at once, for a service that starts before its host does. Attempts go on until `close`; calls
   * wait for a connection as long as their time-out allows.
   * @throws {LibvirtError} INVALID_URI.
   */
  static connect(uri: string, options: HypervisorOptions = {}): Hypervisor {
    return new Hypervisor(openLink(uri, options));
  }

  /** Whether calls are sent (`connected`), wait for a connection (`connecting`) or are refused (`closed`). */
  get state(): LinkState {
    return this.#link.state;
  }

  /** Why there is no connection; null while connected. */
  get lastError(): Error | null {
    return this.#link.lastError;
  }

  /** Resolves when connected. @throws {LibvirtError} NOT_CONNECTED after `timeoutMs`, 10 s by default. */
  connected(options?: ConnectedOptions): Promise<void> {
    return this.#link.connected(options);
  }

  /**
   * Calls back with each change of {@link state}. After `connected`, events may have been missed: read everything again.
   * @returns what removes the listener.
   */
  onStateChange(listener: (state: LinkState) => void): () => void {
    return this.#link.onStateChange(listener);
  }

  /**
   * Ends every connection, stream and call under way: at once, or where event listeners have just gone, when libvirtd has
   * answered for them, 0.1 s later at most. Idempotent.
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

  /** Name of the driver: `QEMU`, `TEST`. */
  getType(options?: CallOptions): Promise<string> {
    return this.#link.call(connectProcedures.getType, undefined, options);
  }

  /** Version of the hypervisor, QEMU for instance: major * 1,000,000 + minor * 1,000 + release. */
  getVersion(options?: CallOptions): Promise<number> {
    return this.#link.call(connectProcedures.getVersion, undefined, options);
  }

  /** Version of libvirtd, in the same form. */
  getLibVersion(options?: CallOptions): Promise<number> {
    return this.#link.call(connectProcedures.getLibVersion, undefined, options);
  }

  /** The host's own name. */
  getHostname(options?: CallOptions): Promise<string> {
    return this.#link.call(connectProcedures.getHostname, undefined, options);
  }

  /** The URI as libvirtd knows it. */
  getUri(options?: CallOptions): Promise<string> {
    return this.#link.call(connectProcedures.getUri, undefined, options);
  }

  /** What the host can run, as XML. */
  getCapabilities(options?: CallOptions): Promise<string> {
    return this.#link.call(connectProcedures.getCapabilities, undefined, options);
  }

  /** What a domain of this kind can have, as XML. @throws {LibvirtError} NO_SUPPORT on the test driver. */
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

  /** @param flags `ConnectListAllDomainsFlags`; 0 for all. */
  async listAllDomains(flags = 0, options?: CallOptions): Promise<readonly Domain[]> {
    const { domains } = await this.#link.call(connectProcedures.listAllDomains, { needResults: 1, flags }, options);
    return domains.map((domain) => new Domain(this.#link, domain));
  }

  /** @throws {LibvirtError} NO_DOMAIN. */
  async domainLookupById(id: number, options?: CallOptions): Promise<Domain> {
    return this.#domain(await this.#link.call(domainProcedures.lookupById, { id }, options));
  }

  /** @throws {LibvirtError} NO_DOMAIN. */
  async domainLookupByName(name: string, options?: CallOptions): Promise<Domain> {
    return this.#domain(await this.#link.call(domainProcedures.lookupByName, { name }, options));
  }

  /** @param uuid with or without hyphens, in either case. @throws {LibvirtError} NO_DOMAIN. */
  async domainLookupByUuid(uuid: string, options?: CallOptions): Promise<Domain> {
    return this.#domain(await this.#link.call(domainProcedures.lookupByUuid, { uuid }, options));
  }

  /**
   * Makes or, where name and UUID are known, replaces a definition.
   * @param flags `DomainDefineFlags`.
   * @throws {LibvirtError} XML_INVALID_SCHEMA with VALIDATE; OPERATION_FAILED where name or UUID belong to another domain.
   */
  async domainDefineXml(xml: string, flags = 0, options?: CallOptions): Promise<Domain> {
    return this.#domain(await this.#link.work(null, domainProcedures.defineXmlFlags, { xml, flags }, options));
  }

  /** Starts a transient domain, or an instance of a defined one. @param flags `DomainCreateFlags`. */
  async domainCreateXml(xml: string, flags = 0, options?: CallOptions): Promise<Domain> {
    return this.#domain(await this.#link.work(null, domainProcedures.createXml, { xml, flags }, options));
  }

  /**
   * Statistics of all domains that match, in one call. STATE alone answers at once; other groups wait for every QEMU, a
   * hanging one too, and go over the work connection.
   * @param stats `DomainStatsTypes`; 0 for all groups.
   * @param flags `ConnectGetAllDomainStatsFlags`.
   */
  getAllDomainStats(stats: number, flags = 0, options?: CallOptions): Promise<readonly DomainStats[]> {
    return this.domainListGetStats([], stats, flags, options);
  }

  /** As {@link getAllDomainStats}, of these domains; of all when there are none. */
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

  /** @param flags `ConnectListAllStoragePoolsFlags`; 0 for all. */
  async listAllStoragePools(flags = 0, options?: CallOptions): Promise<readonly StoragePool[]> {
    const { pools } = await this.#link.call(connectProcedures.listAllStoragePools, { needResults: 1, flags }, options);
    return pools.map((pool) => new StoragePool(this.#link, pool));
  }

  /** @throws {LibvirtError} NO_STORAGE_POOL. */
  async storagePoolLookupByName(name: string, options?: CallOptions): Promise<StoragePool> {
    return new StoragePool(this.#link, await this.#link.call(storagePoolProcedures.lookupByName, { name }, options));
  }

  /** @throws {LibvirtError} NO_STORAGE_POOL. */
  async storagePoolLookupByUuid(uuid: string, options?: CallOptions): Promise<StoragePool> {
    return new StoragePool(this.#link, await this.#link.call(storagePoolProcedures.lookupByUuid, { uuid }, options));
  }

  /** The pool that a volume is in. @throws {LibvirtError} NO_STORAGE_POOL. */
  async storagePoolLookupByVolume(volume: StorageVolumeRef, options?: CallOptions): Promise<StoragePool> {
    return new StoragePool(
      this.#link,
      await this.#link.call(storagePoolProcedures.lookupByVolume, { volume }, options),
    );
  }

  /** @throws {LibvirtError} NO_STORAGE_POOL where no pool that runs has this directory. */
  async storagePoolLookupByTargetPath(path: string, options?: CallOptions): Promise<StoragePool> {
    return new StoragePool(
      this.#link,
      await this.#link.call(storagePoolProcedures.lookupByTargetPath, { path }, options),
    );
  }

  /** Makes or replaces a definition. @param flags `StoragePoolDefineFlags`. */
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

  /** @throws {LibvirtError} NO_STORAGE_VOL. */
  async storageVolLookupByKey(key: string, options?: CallOptions): Promise<StorageVolume> {
    return new StorageVolume(this.#link, await this.#link.call(storageVolumeProcedures.lookupByKey, { key }, options));
  }

  /** @throws {LibvirtError} NO_STORAGE_VOL where the path is in no pool that runs, or came after its last refresh. */
  async storageVolLookupByPath(path: string, options?: CallOptions): Promise<StorageVolume> {
    return new StorageVolume(
      this.#link,
      await this.#link.call(storageVolumeProcedures.lookupByPath, { path }, options),
    );
  }

  /** @param flags `ConnectListAllNetworksFlags`; 0 for all. */
  async listAllNetworks(flags = 0, options?: CallOptions): Promise<readonly Network[]> {
    const { networks } = await this.#link.call(connectProcedures.listAllNetworks, { needResults: 1, flags }, options);
    return networks.map((network) => new Network(this.#link, network));
  }

  /** A network interface of the host. @throws {LibvirtError} NO_INTERFACE. */
  async interfaceLookupByName(name: string, options?: CallOptions): Promise<Interface> {
    return new Interface(this.#link, await this.#link.call(interfaceProcedures.lookupByName, { name }, options));
  }

  /** @param mac as in `00:16:3e:12:34:56`. @throws {LibvirtError} NO_INTERFACE, MULTIPLE_INTERFACES. */
  async interfaceLookupByMacString(mac: string, options?: CallOptions): Promise<Interface> {
    return new Interface(this.#link, await this.#link.call(interfaceProcedures.lookupByMacString, { mac }, options));
  }

  /** @throws {LibvirtError} NO_NETWORK. */
  async networkLookupByName(name: string, options?: CallOptions): Promise<Network> {
    return new Network(this.#link, await this.#link.call(networkProcedures.lookupByName, { name }, options));
  }

  /** @throws {LibvirtError} NO_NETWORK. */
  async networkLookupByUuid(uuid: string, options?: CallOptions): Promise<Network> {
    return new Network(this.#link, await this.#link.call(networkProcedures.lookupByUuid, { uuid }, options));
  }

  /** Makes or replaces a definition. */
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
