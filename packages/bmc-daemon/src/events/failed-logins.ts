/**
 * Refused log-ins, as events: who was tried from where, never with what. Whoever guesses passwords makes as many of them as he likes,
 * so they are paced: the first ones are told one by one, then all that come within ten minutes by one event. A log of 1,000 entries
 * lasts a week then.
 */
import type { RefusedAttempt } from '../auth/login.js';
import { baseRegistry } from '../redfish/base-registry.js';
import type { Actor, EventBus } from './event-bus.js';

/** Where they are told, and by which clock. */
export interface FailedLoginsOptions {
  readonly events: Pick<EventBus, 'publish'>;
  /** Milliseconds that only go forward. Default: those since the process began. */
  readonly now?: () => number;
  /** Calls once, later, and does not keep the process alive for it. @returns a function that gives it up. Default: a timer. */
  readonly after?: (ms: number, call: () => void) => () => void;
}

/** What is told of them; closed with the service. */
export interface FailedLogins {
  readonly onRefused: (attempt: RefusedAttempt) => void;
  /** Tells what is not told yet. */
  close(): void;
}

/** Events that may come at once, and how long it takes until another one may. */
const AT_ONCE = 10;
const EVERY_MS = 600_000;
/** Accounts and addresses that are counted; beyond, it is "more than". */
const MOST_COUNTED = 1_000;

interface Untold {
  count: number;
  readonly accounts: Set<string>;
  readonly addresses: Set<string>;
}

/** Publishes what it is told of from now on. */
export function publishFailedLogins({
  events,
  now = () => performance.now(),
  after = timer,
}: FailedLoginsOptions): FailedLogins {
  let left = AT_ONCE;
  let countedAt = now();
  let untold: Untold | undefined;
  let cancel: () => void = () => undefined;

  const refill = (): void => {
    const earned = Math.floor((now() - countedAt) / EVERY_MS);
    countedAt += earned * EVERY_MS;
    left = Math.min(AT_ONCE, left + earned);
  };
  const publish = (actor: Actor | null, detail: string): void => {
    left -= 1;
    events.publish({
      messageId: `${baseRegistry}.AccessUnauthorized`,
      messageArgs: [],
      severity: 'Warning',
      origin: '/redfish/v1/SessionService',
      system: null,
      actor,
      time: new Date(),
      detail,
    });
  };
  const tellRest = (): void => {
    cancel();
    if (untold === undefined) return;
    const { count, accounts, addresses } = untold;
    untold = undefined;
    refill();
    const [address] = addresses;
    // Who it was is known where it was but one.
    const actor = addresses.size === 1 && address !== undefined ? { user: null, address } : null;
    const of = accounts.size === 0 ? '' : ` for ${counted(accounts, 'account')}`;
    const many = count === 1 ? ['One more log-in', 'was'] : [`${count} more log-ins`, 'were'];
    publish(actor, `${many[0]}${of} from ${counted(addresses, 'address')} ${many[1]} refused.`);
  };

  return {
    onRefused({ account, address, reason }) {
      refill();
      if (untold === undefined && left > 0) {
        publish(
          { user: null, address },
          `A log-in as ${account ?? 'a user that there is not'} was refused: ${reason}.`,
        );
        return;
      }
      if (untold === undefined) {
        untold = { count: 0, accounts: new Set(), addresses: new Set() };
        cancel = after(countedAt + EVERY_MS - now(), tellRest);
      }
      untold.count += 1;
      if (account !== null && untold.accounts.size < MOST_COUNTED) untold.accounts.add(account);
      if (untold.addresses.size < MOST_COUNTED) untold.addresses.add(address);
    },
    close: tellRest,
  };
}

function counted({ size }: ReadonlySet<string>, what: 'account' | 'address'): string {
  const plural = what === 'account' ? 'accounts' : 'addresses';
  if (size >= MOST_COUNTED) return `more than ${size - 1} ${plural}`;
  return size === 1 ? `one ${what}` : `${size} ${plural}`;
}

function timer(ms: number, call: () => void): () => void {
  const waiting = setTimeout(call, ms).unref();
  return () => clearTimeout(waiting);
}
