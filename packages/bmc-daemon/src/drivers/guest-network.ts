/**
 * What is known of a running guest's network: from the DHCP server of its network, from the guest itself where it has an agent, and
 * from the host's own interfaces. A driver without it has no `guestNetwork`; addresses are then not known.
 */

/** An address of an interface. */
export interface GuestAddress {
  readonly address: string;
  /** Bits of the network's part. */
  readonly prefix: number;
  /** `dhcp`: leased by the host; null: the guest says that it has it, and not where from. */
  readonly origin: 'dhcp' | null;
}

/** What is known of one interface. */
export interface InterfaceFacts {
  readonly ipv4: readonly GuestAddress[];
  readonly ipv6: readonly GuestAddress[];
  /** The guest's name as its DHCP client or its agent gives it, with a domain where it has one; null: not known. */
  readonly hostName: string | null;
  /** Domain of the network that leases its addresses; null: it has none. */
  readonly domainName: string | null;
  /** Of the host's interface that it is directly on; null: a virtual network has no speed. */
  readonly speedMbps: number | null;
}

/** By MAC address, lower case. What is missing is not known. */
export type NetworkFacts = ReadonlyMap<string, InterfaceFacts>;

/** The group of a driver that knows what its guests are called and reached by. */
export interface GuestNetwork {
  /**
   * What is known by now. A guest whose agent does not answer delays nobody: it is asked behind the readers' backs, and only who
   * asks first waits for the answer, for a fraction of a second.
   * @throws {DriverError} notFound, unavailable.
   */
  facts(id: string): Promise<NetworkFacts>;
}
