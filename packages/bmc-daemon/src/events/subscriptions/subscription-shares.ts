/**
 * Divides the places for subscriptions: limits the event streams of each client, and reserves places
 * for clients with ConfigureManager. So other clients cannot use up all places.
 */

/** The place of a subscription: the data that counts for the limits. */
export interface Place {
  /** `push`: the service sends the events to an address. `stream`: the client has an open connection. */
  readonly kind: 'push' | 'stream';
  readonly owner: string | null;
  /** Address of the client of a stream; null for `push`. */
  readonly address: string | null;
}

/** The place that a client requests for one more subscription. */
export interface PlaceRequest extends Place {
  /**
   * Whether the client may delete the subscriptions of others (ConfigureManager). Without accounts,
   * every client may.
   */
  readonly hasConfigureManager: boolean;
}

/** The share of all places that the streams of an account without ConfigureManager may use. */
const ACCOUNT_SHARE = 1 / 4;
/** The share of all places that the streams of one address may use, with one or many accounts. */
const ADDRESS_SHARE = 1 / 2;
/** The share of all places that only clients with ConfigureManager may use. */
const RESERVED_SHARE = 1 / 10;

/**
 * Returns whether there is a place for one more subscription. `push` subscriptions have no limit for each
 * account. Only clients with ConfigureManager or ConfigureComponents can create them, and a tool such as Ironic
 * creates one for each machine.
 */
export function hasPlace(request: PlaceRequest, taken: readonly Place[], limit: number): boolean {
  const { kind, owner, address, hasConfigureManager } = request;
  if (taken.length >= (hasConfigureManager ? limit : Math.floor(limit * (1 - RESERVED_SHARE)))) return false;
  if (kind === 'push') return true;
  const streams = taken.filter((place) => place.kind === 'stream');
  if (streams.filter((place) => place.address === address).length >= Math.floor(limit * ADDRESS_SHARE)) return false;
  return (
    hasConfigureManager || streams.filter((place) => place.owner === owner).length < Math.floor(limit * ACCOUNT_SHARE)
  );
}
