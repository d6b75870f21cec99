import { DomainInterfaceAddressesSource } from './constants/domain.js';
import type { CallOptions, Link } from './link.js';
import { domainProcedures } from './protocol/domain.js';
import type { DomainRef } from './protocol/object.js';
import type { Procedure } from './protocol/procedure.js';
import { qemuProcedures } from './protocol/qemu.js';
import type { LibvirtStream } from './stream.js';

/** State and reason as numbers: `DomainState`, and for instance `DomainShutoffReason`. */
export interface DomainStateInfo {
  readonly state: number;
  readonly reason: number;
}

/** What a machine has and uses. @see virDomainInfo */
export interface DomainInfo {
  /** One of `DomainState`. */
  readonly state: number;
  readonly maxMemKiB: number;
  readonly memoryKiB: number;
  readonly nrVirtCpu: number;
  /** CPU time used in nanoseconds; a bigint, for 104 days of it pass 2^53. */
  readonly cpuTimeNs: bigint;
}

/** Sizes of a disk's image, in bytes. @see virDomainBlockInfo */
export interface DomainBlockInfo {
  /** What the guest sees. */
  readonly capacityBytes: number;
  /** What the guest has written, as far as the format tells. */
  readonly allocationBytes: number;
  /** Size of the file or device on the host. */
  readonly physicalBytes: number;
}

/** Counters since the start of the guest; -1 where the hypervisor does not count. @see virDomainBlockStatsStruct */
export interface DomainBlockStats {
  readonly rdReq: number;
  readonly rdBytes: bigint;
  readonly wrReq: number;
  readonly wrBytes: bigint;
  readonly errs: number;
}

/** One interface of a guest with its addresses. @see virDomainInterface */
export interface DomainInterface {
  /** Name on the host (`vnet0`) for LEASE and ARP, in the guest (`eth0`) for AGENT. */
  readonly name: string;
  /** MAC address, null where there is none. */
  readonly hwaddr: string | null;
  readonly addresses: readonly {
    /** One of `IpAddrType`. */
    readonly type: number;
    readonly address: string;
    readonly prefix: number;
  }[];
}

/**
 * A virtual machine: a value that names it, and methods that speak to its host. It holds nothing on the host, so there is
 * nothing to free; when the machine is gone, methods reject with `NO_DOMAIN`. `id` is what it was when the value was made.
 *
 * Methods are libvirt's functions without `virDomain`. What answers at once goes over the control connection; what changes
 * the machine or waits for its QEMU goes over the work connection, in order, one call per domain at a time. All reject with a
 * {@link LibvirtError}.
 * @see https://libvirt.org/html/libvirt-libvirt-domain.html
 */
export class Domain implements DomainRef {
  readonly #link: Link;
  readonly name: string;
  /** Canonical, lower case. */
  readonly uuid: string;
  /** Number of the running instance; -1 when off. */
  readonly id: number;

  constructor(link: Link, { name, uuid, id }: DomainRef) {
    this.#link = link;
    this.name = name;
    this.uuid = uuid;
    this.id = id;
  }

  /**
   * Reads the XML of the machine. libvirt 11.3 and later do not answer while another call waits for a QEMU that hangs.
   * @param flags `DomainXmlFlags`; 0 describes the running machine, or the definition of one that is off.
   */
  getXmlDesc(flags = 0, options?: CallOptions): Promise<string> {
    return this.#link.query(this.uuid, domainProcedures.getXmlDesc, { domain: this, flags }, options);
  }

  /** Answers even while the machine's QEMU hangs. */
  getState(options?: CallOptions): Promise<DomainStateInfo> {
    return this.#link.call(domainProcedures.getState, { domain: this, flags: 0 }, options);
  }

  /** Memory, CPUs and CPU time. */
  async getInfo(options?: CallOptions): Promise<DomainInfo> {
    const info = await this.#link.call(domainProcedures.getInfo, { domain: this }, options);
    return {
      state: info.state,
      maxMemKiB: info.maxMem,
      memoryKiB: info.memory,
      nrVirtCpu: info.nrVirtCpu,
      cpuTimeNs: info.cpuTime,
    };
  }

  /** Whether it runs or is paused. */
  isActive(options?: CallOptions): Promise<boolean> {
    return this.#link.call(domainProcedures.isActive, { domain: this }, options);
  }

  /** Whether it has a definition that survives power off. */
  isPersistent(options?: CallOptions): Promise<boolean> {
    return this.#link.call(domainProcedures.isPersistent, { domain: this }, options);
  }

  /** Whether the persistent definition differs from the one it runs with. */
  isUpdated(options?: CallOptions): Promise<boolean> {
    return this.#link.call(domainProcedures.isUpdated, { domain: this }, options);
  }

  /** Whether it starts with the host. */
  getAutostart(options?: CallOptions): Promise<boolean> {
    return this.#link.call(domainProcedures.getAutostart, { domain: this }, options);
  }

  /** @param autostart whether it is to start with the host. */
  setAutostart(autostart: boolean, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.setAutostart, { domain: this, autostart }, options);
  }

  /** Starts it. @returns the machine with its new id. */
  create(options?: CallOptions): Promise<Domain> {
    return this.createWithFlags(0, options);
  }

  /** @param flags `DomainCreateFlags`. @returns the machine with its new id. */
  async createWithFlags(flags: number, options?: CallOptions): Promise<Domain> {
    const started = await this.#work(domainProcedures.createWithFlags, { domain: this, flags }, options);
    return new Domain(this.#link, started);
  }

  /** Removes the definition; a machine that runs stays until it is off. */
  undefine(options?: CallOptions): Promise<void> {
    return this.undefineFlags(0, options);
  }

  /** @param flags `DomainUndefineFlags`; a UEFI machine needs NVRAM or KEEP_NVRAM. */
  undefineFlags(flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.undefineFlags, { domain: this, flags }, options);
  }

  /** Asks the guest to power off, by the way the hypervisor prefers; resolves when it was asked. */
  shutdown(options?: CallOptions): Promise<void> {
    return this.shutdownFlags(0, options);
  }

  /** @param flags `DomainShutdownFlags`. @throws {LibvirtError} AGENT_UNRESPONSIVE for GUEST_AGENT without an agent. */
  shutdownFlags(flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.shutdownFlags, { domain: this, flags }, options);
  }

  /** Asks the guest to restart; resolves when it was asked. @param flags `DomainRebootFlags`. */
  reboot(flags = 0, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.reboot, { domain: this, flags }, options);
  }

  /** As the reset button. */
  reset(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.reset, { domain: this, flags: 0 }, options);
  }

  /** Ends it as by pulling the plug. With a QEMU that hangs it takes 12 s (measured): give it at least 20 s. */
  destroy(options?: CallOptions): Promise<void> {
    return this.destroyFlags(0, options);
  }

  /** @param flags `DomainDestroyFlags`. */
  destroyFlags(flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.destroyFlags, { domain: this, flags }, options);
  }

  /** Sends a non-maskable interrupt. */
  injectNmi(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.injectNmi, { domain: this, flags: 0 }, options);
  }

  /** Stops its CPUs; memory stays. */
  suspend(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.suspend, { domain: this }, options);
  }

  /** Lets its CPUs go on; also those of a machine that was started paused. */
  resume(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.resume, { domain: this }, options);
  }

  /**
   * Has the guest put itself to sleep, by its agent; resolves when the guest was asked.
   * @param target `NodeSuspendTarget`.
   * @throws {LibvirtError} ARGUMENT_UNSUPPORTED without an agent's channel, AGENT_UNRESPONSIVE without an agent,
   * OPERATION_UNSUPPORTED where the machine has that state switched off.
   */
  pmSuspendForDuration(target: number, options?: CallOptions): Promise<void> {
    // A duration other than 0 is refused by every driver.
    return this.#work(domainProcedures.pmSuspendForDuration, { domain: this, target, duration: 0n, flags: 0 }, options);
  }

  /** Wakes a guest that sleeps in memory. */
  pmWakeup(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.pmWakeup, { domain: this, flags: 0 }, options);
  }

  /** Whether it was saved to disk and will go on from there. */
  hasManagedSaveImage(options?: CallOptions): Promise<boolean> {
    return this.#link.call(domainProcedures.hasManagedSaveImage, { domain: this, flags: 0 }, options);
  }

  /**
   * What it was when it was saved, and will be when it goes on.
   * @throws {LibvirtError} OPERATION_INVALID where it is not saved; NO_SUPPORT of a libvirt before 3.7, and of the test driver.
   */
  managedSaveGetXmlDesc(options?: CallOptions): Promise<string> {
    return this.#link.call(domainProcedures.managedSaveGetXmlDesc, { domain: this, flags: 0 }, options);
  }

  /** Throws the saved state away: the next start is a fresh boot. */
  managedSaveRemove(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.managedSaveRemove, { domain: this, flags: 0 }, options);
  }

  /** @param xml one device element. @param flags `DomainDeviceModifyFlags`; CONFIG for a machine that is off. */
  attachDeviceFlags(xml: string, flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.attachDeviceFlags, { domain: this, xml, flags }, options);
  }

  /** Live, the device is gone only when the `deviceRemoved` event says so: the guest has to let go of it. */
  detachDeviceFlags(xml: string, flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.detachDeviceFlags, { domain: this, xml, flags }, options);
  }

  /** Changes a device in place, such as the medium of a drive. FORCE opens a tray that the guest has locked. */
  updateDeviceFlags(xml: string, flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.updateDeviceFlags, { domain: this, xml, flags }, options);
  }

  /**
   * Sets or, with null, removes metadata. LIVE and CONFIG both wait for a QEMU that hangs.
   * @param type `DomainMetadataType`.
   * @param metadata the text, or for ELEMENT one element of the namespace.
   * @param key prefix that an ELEMENT gets in the XML; null otherwise.
   * @param uri namespace of an ELEMENT; null otherwise.
   * @param flags `DomainModificationImpact`.
   */
  setMetadata(
    type: number,
    metadata: string | null,
    key: string | null,
    uri: string | null,
    flags = 0,
    options?: CallOptions,
  ): Promise<void> {
    return this.#work(domainProcedures.setMetadata, { domain: this, type, metadata, key, uri, flags }, options);
  }

  /** @throws {LibvirtError} NO_DOMAIN_METADATA where there is none. */
  getMetadata(type: number, uri: string | null, flags = 0, options?: CallOptions): Promise<string> {
    return this.#link.call(domainProcedures.getMetadata, { domain: this, type, uri, flags }, options);
  }

  /** @param disk target name (`vda`) or path of the source. Asks the machine's QEMU while it runs. */
  async getBlockInfo(disk: string, options?: CallOptions): Promise<DomainBlockInfo> {
    const info = await this.#work(domainProcedures.getBlockInfo, { domain: this, path: disk, flags: 0 }, options);
    return { capacityBytes: info.capacity, allocationBytes: info.allocation, physicalBytes: info.physical };
  }

  /** @param disk target name (`vda`) or path of the source. Asks the machine's QEMU; it must run. */
  blockStats(disk: string, options?: CallOptions): Promise<DomainBlockStats> {
    return this.#work(domainProcedures.blockStats, { domain: this, path: disk }, options);
  }

  /** @param source `DomainInterfaceAddressesSource`; AGENT asks the guest. The machine must run. */
  interfaceAddresses(source: number, options?: CallOptions): Promise<readonly DomainInterface[]> {
    const args = { domain: this, source, flags: 0 };
    // Leases and ARP are files of the host: they answer whatever the guest does.
    return source === DomainInterfaceAddressesSource.AGENT
      ? this.#work(domainProcedures.interfaceAddresses, args, options)
      : this.#link.call(domainProcedures.interfaceAddresses, args, options);
  }

  /**
   * The guest's own name. The machine must run.
   * @param flags `DomainGetHostnameFlags`; 0 lets the hypervisor choose.
   * @throws {LibvirtError} AGENT_UNRESPONSIVE, NO_HOSTNAME.
   */
  getHostname(flags = 0, options?: CallOptions): Promise<string> {
    return this.#work(domainProcedures.getHostname, { domain: this, flags }, options);
  }

  /**
   * Sends a line to the QEMU monitor and gives back its answer, uninterpreted: an error of QEMU is inside the answer. libvirt
   * marks a machine as tainted (`custom-monitor`) from then on. QEMU only.
   * @param flags `DomainQemuMonitorCommandFlags`: 0 for QMP (JSON), HMP for a human monitor line.
   */
  qemuMonitorCommand(command: string, flags = 0, options?: CallOptions): Promise<string> {
    return this.#work(qemuProcedures.monitorCommand, { domain: this, command, flags }, options);
  }

  /**
   * Connects to a serial port, parallel port or console.
   * @param deviceName its alias, such as `serial0`; null for the first console.
   * @param flags `DomainConsoleFlags`.
   * @returns a Duplex on a connection of its own; destroy it to hang up.
   */
  openConsole(deviceName: string | null = null, flags = 0, options?: CallOptions): Promise<LibvirtStream> {
    return this.#link.openStream(domainProcedures.openConsole, { domain: this, deviceName, flags }, options);
  }

  #work<A, R>(procedure: Procedure<A, R>, args: A, options: CallOptions | undefined): Promise<R> {
    return this.#link.work(this.uuid, procedure, args, options);
  }
}
