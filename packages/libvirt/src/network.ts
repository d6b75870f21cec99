import type { CallOptions, Link } from './link.js';
import { networkProcedures } from './protocol/network.js';
import type { NetworkRef } from './protocol/object.js';
import type { Procedure } from './protocol/procedure.js';

/** A lease of the network's DHCP server. @see virNetworkDHCPLease */
export interface NetworkDhcpLease {
  /** The bridge on the host. */
  readonly iface: string;
  /** Seconds since 1970; 0 where it does not end. */
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
 * A virtual network: a value that names it, and methods that speak to its host. When it is gone, methods reject with
 * `NO_NETWORK`. Methods are libvirt's functions without `virNetwork`.
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

  /** @param flags `NetworkXmlFlags`. */
  getXmlDesc(flags = 0, options?: CallOptions): Promise<string> {
    return this.#link.call(networkProcedures.getXmlDesc, { network: this, flags }, options);
  }

  /** The bridge on the host. @throws {LibvirtError} INTERNAL_ERROR where the network has none. */
  getBridgeName(options?: CallOptions): Promise<string> {
    return this.#link.call(networkProcedures.getBridgeName, { network: this }, options);
  }

  /** Whether it runs. */
  isActive(options?: CallOptions): Promise<boolean> {
    return this.#link.call(networkProcedures.isActive, { network: this }, options);
  }

  /** Whether it has a definition that survives a stop. */
  isPersistent(options?: CallOptions): Promise<boolean> {
    return this.#link.call(networkProcedures.isPersistent, { network: this }, options);
  }

  /** Whether it starts with libvirtd. */
  getAutostart(options?: CallOptions): Promise<boolean> {
    return this.#link.call(networkProcedures.getAutostart, { network: this }, options);
  }

  /** @param autostart whether it is to start with libvirtd. */
  setAutostart(autostart: boolean, options?: CallOptions): Promise<void> {
    return this.#work(networkProcedures.setAutostart, { network: this, autostart }, options);
  }

  /** Starts it. */
  create(options?: CallOptions): Promise<void> {
    return this.#work(networkProcedures.create, { network: this }, options);
  }

  /** Stops it; machines that are connected lose their link. */
  destroy(options?: CallOptions): Promise<void> {
    return this.#work(networkProcedures.destroy, { network: this }, options);
  }

  /** Removes the definition. */
  undefine(options?: CallOptions): Promise<void> {
    return this.#work(networkProcedures.undefine, { network: this }, options);
  }

  /** Leases of the network's own DHCP server. @param mac only those of this address. */
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
