import type { CallOptions, Link } from '../link/link.js';
import { networkProcedures } from '../protocol/network.js';
import type { NetworkRef } from '../protocol/object.js';
import type { Procedure } from '../protocol/procedure.js';

/** A DHCP lease of the network. @see virNetworkDHCPLease */
export interface NetworkDhcpLease {
  /** Bridge on the host. */
  readonly iface: string;
  /** Seconds since 1970; 0: the lease does not expire. */
  readonly expiryTimeSeconds: number;
  /** One of `IpAddrType`. */
  readonly type: number;
  readonly mac: string | null;
  /** Identity association of DHCPv6. */
  readonly iaid: string | null;
  readonly address: string;
  readonly prefix: number;
  readonly hostname: string | null;
  readonly clientId: string | null;
}

/**
 * A virtual network. The object is a value, so there is nothing to close. If the network no longer
 * exists, methods reject with `NO_NETWORK`. Methods have the names of libvirt's functions without
 * `virNetwork`.
 * @see https://libvirt.org/html/libvirt-libvirt-network.html
 */
export class Network implements NetworkRef {
  readonly #link: Link;
  readonly name: string;
  /** Canonical, lower case. */
  readonly uuid: string;

  constructor(link: Link, { name, uuid }: NetworkRef) {
    this.#link = link;
    this.name = name;
    this.uuid = uuid;
  }

  /** Returns the XML. @param flags `NetworkXmlFlags`. */
  getXmlDesc(flags = 0, options?: CallOptions): Promise<string> {
    return this.#link.call(networkProcedures.getXmlDesc, { network: this, flags }, options);
  }

  /**
   * Returns the name of the bridge on the host.
   * @throws {LibvirtError} INTERNAL_ERROR if there is no bridge.
   */
  getBridgeName(options?: CallOptions): Promise<string> {
    return this.#link.call(networkProcedures.getBridgeName, { network: this }, options);
  }

  /** Returns true if the network is running. */
  isActive(options?: CallOptions): Promise<boolean> {
    return this.#link.call(networkProcedures.isActive, { network: this }, options);
  }

  /** Returns true if the network has a definition, which remains after a stop. */
  isPersistent(options?: CallOptions): Promise<boolean> {
    return this.#link.call(networkProcedures.isPersistent, { network: this }, options);
  }

  /** Returns true if the network starts with libvirtd. */
  getAutostart(options?: CallOptions): Promise<boolean> {
    return this.#link.call(networkProcedures.getAutostart, { network: this }, options);
  }

  /** Sets whether the network starts with libvirtd. */
  setAutostart(autostart: boolean, options?: CallOptions): Promise<void> {
    return this.#work(networkProcedures.setAutostart, { network: this, autostart }, options);
  }

  /** Starts the network. */
  create(options?: CallOptions): Promise<void> {
    return this.#work(networkProcedures.create, { network: this }, options);
  }

  /** Stops the network. Its domains lose their connection. */
  destroy(options?: CallOptions): Promise<void> {
    return this.#work(networkProcedures.destroy, { network: this }, options);
  }

  /** Removes the definition. A running network continues until it stops. */
  undefine(options?: CallOptions): Promise<void> {
    return this.#work(networkProcedures.undefine, { network: this }, options);
  }

  /** Returns the DHCP leases. @param mac only the leases of this MAC address; null: all. */
  async getDhcpLeases(mac: string | null = null, options?: CallOptions): Promise<readonly NetworkDhcpLease[]> {
    const args = { network: this, mac, needResults: 1, flags: 0 };
    const { leases } = await this.#link.call(networkProcedures.getDhcpLeases, args, options);
    return leases.map(({ expirytime, ipaddr, clientid, ...lease }) => ({
      ...lease,
      expiryTimeSeconds: expirytime,
      address: ipaddr,
      clientId: clientid,
    }));
  }

  #work<A, R>(procedure: Procedure<A, R>, args: A, options: CallOptions | undefined): Promise<R> {
    return this.#link.work(null, procedure, args, options);
  }
}
