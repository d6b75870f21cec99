import { DomainInterfaceAddressesSource } from '../constants/domain.js';
import type { CallOptions, Link } from '../link/link.js';
import { domainProcedures } from '../protocol/domain.js';
import type { DomainRef } from '../protocol/object.js';
import type { Procedure } from '../protocol/procedure.js';
import { qemuProcedures } from '../protocol/qemu.js';
import type { LibvirtStream } from '../stream.js';

/** State (`DomainState`) and its reason, for example `DomainShutoffReason`. */
export interface DomainStateInfo {
  readonly state: number;
  readonly reason: number;
}

/** Memory, CPUs and CPU time of a domain. @see virDomainInfo */
export interface DomainInfo {
  /** One of `DomainState`. */
  readonly state: number;
  readonly maxMemKiB: number;
  readonly memoryKiB: number;
  readonly nrVirtCpu: number;
  /** Used CPU time in nanoseconds. A bigint: a number is exact only up to 2^53, which is 104 days. */
  readonly cpuTimeNs: bigint;
}

/** Sizes of a disk image in bytes. @see virDomainBlockInfo */
export interface DomainBlockInfo {
  /** Size that the guest sees. */
  readonly capacityBytes: number;
  /** Highest offset that is in use in the image, if the image format records it. */
  readonly allocationBytes: number;
  /** Size of the file or device on the host. */
  readonly physicalBytes: number;
}

/**
 * Counters since the start of the domain; -1 if the hypervisor does not count.
 * @see virDomainBlockStatsStruct
 */
export interface DomainBlockStats {
  readonly rdReq: number;
  readonly rdBytes: bigint;
  readonly wrReq: number;
  readonly wrBytes: bigint;
  readonly errs: number;
}

/** A network interface of a domain with its addresses. @see virDomainInterface */
export interface DomainInterface {
  /** Name on the host (`vnet0`) for LEASE and ARP, in the guest (`eth0`) for AGENT. */
  readonly name: string;
  /** MAC address; null if there is none. */
  readonly hwaddr: string | null;
  readonly addresses: readonly {
    /** One of `IpAddrType`. */
    readonly type: number;
    readonly address: string;
    readonly prefix: number;
  }[];
}

/**
 * A domain, libvirt's word for a virtual machine. The object is a value: it uses no resources on
 * the host, so there is nothing to close. If the domain no longer exists, methods reject with
 * `NO_DOMAIN`. `id` does not change after the object is created.
 *
 * Methods have the names of libvirt's functions without `virDomain`. Fast reads use the control
 * connection, and `getXmlDesc` the query connection. Changes, and other reads that wait for QEMU,
 * use the work connection: in order, one call per domain at a time. After a timeout or an abort, the
 * next call may run beside the one that libvirtd still executes. Each console has its own
 * connection. A method that fails rejects with a {@link LibvirtError}.
 * @see https://libvirt.org/html/libvirt-libvirt-domain.html
 */
export class Domain implements DomainRef {
  readonly #link: Link;
  readonly name: string;
  /** Canonical, lower case. */
  readonly uuid: string;
  /** Id of the running domain; -1 if it is not running. */
  readonly id: number;

  constructor(link: Link, { name, uuid, id }: DomainRef) {
    this.#link = link;
    this.name = name;
    this.uuid = uuid;
    this.id = id;
  }

  /**
   * Returns the XML of the domain. libvirt 11.3 and later do not answer while another call waits
   * for a hung QEMU.
   * @param flags `DomainXmlFlags`. 0: the XML of the running domain, or the definition if it is not
   *   running.
   */
  getXmlDesc(flags = 0, options?: CallOptions): Promise<string> {
    return this.#link.query(this.uuid, domainProcedures.getXmlDesc, { domain: this, flags }, options);
  }

  /** Returns the state and its reason. Works even while QEMU hangs. */
  getState(options?: CallOptions): Promise<DomainStateInfo> {
    return this.#link.call(domainProcedures.getState, { domain: this, flags: 0 }, options);
  }

  /** Returns memory, CPUs and CPU time. */
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

  /** Returns true if the domain is running, paused, or suspended to memory by its guest. */
  isActive(options?: CallOptions): Promise<boolean> {
    return this.#link.call(domainProcedures.isActive, { domain: this }, options);
  }

  /** Returns true if the domain has a definition, which remains after power off. */
  isPersistent(options?: CallOptions): Promise<boolean> {
    return this.#link.call(domainProcedures.isPersistent, { domain: this }, options);
  }

  /** Returns true if the definition has changed since the domain started. */
  isUpdated(options?: CallOptions): Promise<boolean> {
    return this.#link.call(domainProcedures.isUpdated, { domain: this }, options);
  }

  /** Returns true if the domain starts with the host. */
  getAutostart(options?: CallOptions): Promise<boolean> {
    return this.#link.call(domainProcedures.getAutostart, { domain: this }, options);
  }

  /** Sets whether the domain starts with the host. */
  setAutostart(autostart: boolean, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.setAutostart, { domain: this, autostart }, options);
  }

  /** Starts the domain. @returns the domain with its new id. */
  create(options?: CallOptions): Promise<Domain> {
    return this.createWithFlags(0, options);
  }

  /** Starts the domain. @param flags `DomainCreateFlags`. @returns the domain with its new id. */
  async createWithFlags(flags: number, options?: CallOptions): Promise<Domain> {
    const started = await this.#work(domainProcedures.createWithFlags, { domain: this, flags }, options);
    return new Domain(this.#link, started);
  }

  /** Removes the definition. A running domain continues until it stops. */
  undefine(options?: CallOptions): Promise<void> {
    return this.undefineFlags(0, options);
  }

  /** Removes the definition. @param flags `DomainUndefineFlags`; a UEFI domain needs NVRAM or KEEP_NVRAM. */
  undefineFlags(flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.undefineFlags, { domain: this, flags }, options);
  }

  /** Requests the guest to power off (ACPI or guest agent). Resolves when the request is sent. */
  shutdown(options?: CallOptions): Promise<void> {
    return this.shutdownFlags(0, options);
  }

  /**
   * Requests the guest to power off. Resolves when the request is sent.
   * @param flags `DomainShutdownFlags`.
   * @throws {LibvirtError} If GUEST_AGENT is the only flag: ARGUMENT_UNSUPPORTED without an agent channel;
   *   AGENT_UNRESPONSIVE without an agent.
   */
  shutdownFlags(flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.shutdownFlags, { domain: this, flags }, options);
  }

  /**
   * Requests the guest to restart. Resolves when the request is sent.
   * @param flags `DomainRebootFlags`.
   */
  reboot(flags = 0, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.reboot, { domain: this, flags }, options);
  }

  /** Resets the domain, like a reset button. */
  reset(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.reset, { domain: this, flags: 0 }, options);
  }

  /**
   * Powers the domain off immediately. If QEMU hangs, this takes 12 s (measured), so use a
   * `timeoutMs` of 20 s or more.
   */
  destroy(options?: CallOptions): Promise<void> {
    return this.destroyFlags(0, options);
  }

  /** Powers the domain off immediately. @param flags `DomainDestroyFlags`. */
  destroyFlags(flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.destroyFlags, { domain: this, flags }, options);
  }

  /** Sends a non-maskable interrupt. */
  injectNmi(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.injectNmi, { domain: this, flags: 0 }, options);
  }

  /** Pauses the CPUs. The domain keeps its memory. */
  suspend(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.suspend, { domain: this }, options);
  }

  /** Resumes the CPUs of a paused domain. */
  resume(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.resume, { domain: this }, options);
  }

  /**
   * Requests the guest agent to suspend the guest. Resolves when the request is sent.
   * @param target `NodeSuspendTarget`.
   * @throws {LibvirtError} ARGUMENT_UNSUPPORTED without an agent channel; AGENT_UNRESPONSIVE
   *   without an agent; OPERATION_UNSUPPORTED if the definition disables this state.
   */
  pmSuspendForDuration(target: number, options?: CallOptions): Promise<void> {
    // Every driver rejects a duration other than 0.
    return this.#work(domainProcedures.pmSuspendForDuration, { domain: this, target, duration: 0n, flags: 0 }, options);
  }

  /** Wakes a guest that is suspended to memory. */
  pmWakeup(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.pmWakeup, { domain: this, flags: 0 }, options);
  }

  /** Returns true if the state is saved on disk. The next start resumes from it. */
  hasManagedSaveImage(options?: CallOptions): Promise<boolean> {
    return this.#link.call(domainProcedures.hasManagedSaveImage, { domain: this, flags: 0 }, options);
  }

  /**
   * Returns the XML of the saved domain.
   * @throws {LibvirtError} OPERATION_INVALID if there is no saved state; NO_SUPPORT before libvirt
   *   3.7 and with the test driver.
   */
  managedSaveGetXmlDesc(options?: CallOptions): Promise<string> {
    return this.#link.call(domainProcedures.managedSaveGetXmlDesc, { domain: this, flags: 0 }, options);
  }

  /** Deletes the saved state. The next start is a normal boot. */
  managedSaveRemove(options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.managedSaveRemove, { domain: this, flags: 0 }, options);
  }

  /**
   * Adds a device.
   * @param xml one device element.
   * @param flags `DomainDeviceModifyFlags`; CONFIG if the domain is not running.
   */
  attachDeviceFlags(xml: string, flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.attachDeviceFlags, { domain: this, xml, flags }, options);
  }

  /**
   * Removes a device. In a running domain, this only requests the guest to release the device: the
   * `deviceRemoved` event reports its removal. With CONFIG, the definition changes at once.
   * @param flags `DomainDeviceModifyFlags`.
   */
  detachDeviceFlags(xml: string, flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.detachDeviceFlags, { domain: this, xml, flags }, options);
  }

  /**
   * Changes a device, for example the medium of a drive.
   * @param flags `DomainDeviceModifyFlags`; FORCE opens a tray that the guest has locked.
   */
  updateDeviceFlags(xml: string, flags: number, options?: CallOptions): Promise<void> {
    return this.#work(domainProcedures.updateDeviceFlags, { domain: this, xml, flags }, options);
  }

  /**
   * Sets metadata, or removes it if `metadata` is null. Both LIVE and CONFIG wait while QEMU hangs.
   * @param type `DomainMetadataType`.
   * @param metadata a text; for ELEMENT, an XML element of the namespace.
   * @param key namespace prefix of an ELEMENT; null for the other types.
   * @param uri namespace of an ELEMENT; null for the other types.
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

  /**
   * Returns metadata of a type. `type`, `uri` and `flags` are as for {@link setMetadata}.
   * @throws {LibvirtError} NO_DOMAIN_METADATA if there is none.
   */
  getMetadata(type: number, uri: string | null, flags = 0, options?: CallOptions): Promise<string> {
    return this.#link.call(domainProcedures.getMetadata, { domain: this, type, uri, flags }, options);
  }

  /**
   * Returns the sizes of a disk. Queries QEMU if the domain is running.
   * @param disk target name (`vda`) or source path.
   */
  async getBlockInfo(disk: string, options?: CallOptions): Promise<DomainBlockInfo> {
    const info = await this.#work(domainProcedures.getBlockInfo, { domain: this, path: disk, flags: 0 }, options);
    return { capacityBytes: info.capacity, allocationBytes: info.allocation, physicalBytes: info.physical };
  }

  /**
   * Returns the counters of a disk. The domain must be running.
   * @param disk target name (`vda`) or source path.
   */
  blockStats(disk: string, options?: CallOptions): Promise<DomainBlockStats> {
    return this.#work(domainProcedures.blockStats, { domain: this, path: disk }, options);
  }

  /**
   * Returns the network interfaces with their addresses. The domain must be running.
   * @param source `DomainInterfaceAddressesSource`; AGENT queries the guest agent.
   */
  interfaceAddresses(source: number, options?: CallOptions): Promise<readonly DomainInterface[]> {
    const args = { domain: this, source, flags: 0 };
    // libvirtd gets leases and ARP entries from the host, without the guest.
    return source === DomainInterfaceAddressesSource.AGENT
      ? this.#work(domainProcedures.interfaceAddresses, args, options)
      : this.#link.call(domainProcedures.interfaceAddresses, args, options);
  }

  /**
   * Returns the host name of the guest. The domain must be running.
   * @param flags `DomainGetHostnameFlags`; 0 lets the hypervisor choose.
   * @throws {LibvirtError} If libvirt queries the agent: ARGUMENT_UNSUPPORTED without an agent channel;
   *   AGENT_UNRESPONSIVE without an agent. NO_HOSTNAME if libvirt finds no name.
   */
  getHostname(flags = 0, options?: CallOptions): Promise<string> {
    return this.#work(domainProcedures.getHostname, { domain: this, flags }, options);
  }

  /**
   * Sends a command to the QEMU monitor and returns the raw reply. A QEMU error is part of the
   * reply. libvirt marks the domain as tainted (`custom-monitor`). QEMU driver only.
   * @param flags `DomainQemuMonitorCommandFlags`: 0 for QMP (JSON), HMP for a human monitor line.
   */
  qemuMonitorCommand(command: string, flags = 0, options?: CallOptions): Promise<string> {
    return this.#work(qemuProcedures.monitorCommand, { domain: this, command, flags }, options);
  }

  /**
   * Opens a serial port, parallel port or console.
   * @param deviceName device alias, such as `serial0`; null: the first console.
   * @param flags `DomainConsoleFlags`.
   * @returns a Duplex with its own connection. Destroy it to disconnect.
   */
  openConsole(deviceName: string | null = null, flags = 0, options?: CallOptions): Promise<LibvirtStream> {
    return this.#link.openStream(domainProcedures.openConsole, { domain: this, deviceName, flags }, options);
  }

  #work<A, R>(procedure: Procedure<A, R>, args: A, options: CallOptions | undefined): Promise<R> {
    return this.#link.work(this.uuid, procedure, args, options);
  }
}
