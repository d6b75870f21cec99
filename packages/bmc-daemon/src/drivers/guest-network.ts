/**
 * Network data of running guests. It comes from the DHCP server of their network, their guest agent, and
 * the interfaces of the host. A driver without such data has no `guestNetwork`.
 */

/** An address of an interface. */
export interface GuestAddress {
  readonly address: string;
  /** Prefix length in bits. */
  readonly prefix: number;
  /** `dhcp`: leased by the host. Null: the guest has reported the address without its origin. */
  readonly origin: 'dhcp' | null;
}

/** Known facts about one interface. */
export interface InterfaceFacts {
  readonly ipv4: readonly GuestAddress[];
  readonly ipv6: readonly GuestAddress[];
  /**
   * Host name from the DHCP client or the agent, with its domain if it has one; null if unknown.
   */
  readonly hostName: string | null;
  /** Domain of the network of the interface; null: none. */
  readonly domainName: string | null;
  /** Speed of the host interface behind a direct connection; null for a virtual network, or if unknown. */
  readonly speedMbps: number | null;
}

/** Facts by MAC address in lower case. Nothing is known about an interface without an entry. */
export type NetworkFacts = ReadonlyMap<string, InterfaceFacts>;

/** Names and addresses of guests. */
export interface GuestNetwork {
  /**
   * Returns the known facts; none for a machine that is off. The driver queries guests in the
   * background. A call waits for a guest only if no answer is cached, and only for a fraction of a
   * second.
   * @throws {DriverError} such as notFound or unavailable.
   */
  facts(id: string): Promise<NetworkFacts>;
}
