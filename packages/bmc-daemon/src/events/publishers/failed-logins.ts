/**
 * Publishes rejected logins as events: the account and the address, never the password. A guesser
 * may cause any number of them, so the number of events is limited. The first rejected logins are
 * published individually. After them, one event summarizes each interval of ten minutes. A log of 1,000
 * entries then lasts a week.
 */
import type { RefusedAttempt } from '../../offers/logins.js';
import { baseRegistry } from '../../redfish/messages/base-registry.js';
import type { Actor, EventBus } from '../event-bus.js';

/** The destination of the events, and the clocks. */
interface FailedLoginsOptions {
  readonly events: Pick<EventBus, 'publish'>;
  /** A monotonic clock in milliseconds. Default: milliseconds since the process started. */
  readonly now?: () => number;
  /**
   * Calls `call` once after a delay in milliseconds, without keeping the process alive. Default: a timer of Node.
   * @returns a function that cancels the call.
   */
  readonly after?: (ms: number, call: () => void) => () => void;
}

/** The publisher of rejected logins. Close it with the service. */
export interface FailedLogins {
  /** Publishes a rejected login, or counts it for the next summary. */
  readonly onRefused: (attempt: RefusedAttempt) => void;
  /** Publishes the pending summary. */
  close(): void;
}

/** Maximum number of individual events without a pause. */
const MAX_BURST = 10;
/** After each interval of this length, one more event is allowed, up to {@link MAX_BURST}. */
const REFILL_MS = 600_000;
/**
 * Maximum number of accounts and of addresses that are counted. At this number, the text says "more
 * than 999".
 */
const MAX_COUNTED = 1_000;

interface PendingSummary {
  count: number;
  readonly accounts: Set<string>;
  readonly addresses: Set<string>;
}

/** Creates the publisher. */
export function publishFailedLogins({
  events,
  now = () => performance.now(),
  after = timer,
}: FailedLoginsOptions): FailedLogins {
  let left = MAX_BURST;
  let refilledAt = now();
  let pending: PendingSummary | undefined;
  let cancel: () => void = () => undefined;

  const refill = (): void => {
    const earned = Math.floor((now() - refilledAt) / REFILL_MS);
    refilledAt += earned * REFILL_MS;
    left = Math.min(MAX_BURST, left + earned);
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
  const publishSummary = (): void => {
    cancel();
    if (pending === undefined) return;
    const { count, accounts, addresses } = pending;
    pending = undefined;
    refill();
    const [address] = addresses;
    // The event has an actor only if all logins came from one address.
    const actor = addresses.size === 1 && address !== undefined ? { user: null, address } : null;
    const forAccounts = accounts.size === 0 ? '' : ` for ${countText(accounts, 'account')}`;
    const logins = count === 1 ? 'one more login' : `${count} more logins`;
    publish(actor, `This service rejected ${logins}${forAccounts} from ${countText(addresses, 'address')}.`);
  };

  return {
    onRefused({ account, address, reason }) {
      refill();
      if (pending === undefined && left > 0) {
        publish(
          { user: null, address },
          `This service rejected a login as ${account ?? 'an unknown user'}: ${reason}.`,
        );
        return;
      }
      if (pending === undefined) {
        pending = { count: 0, accounts: new Set(), addresses: new Set() };
        cancel = after(refilledAt + REFILL_MS - now(), publishSummary);
      }
      pending.count += 1;
      if (account !== null && pending.accounts.size < MAX_COUNTED) pending.accounts.add(account);
      if (pending.addresses.size < MAX_COUNTED) pending.addresses.add(address);
    },
    close: publishSummary,
  };
}

function countText({ size }: ReadonlySet<string>, what: 'account' | 'address'): string {
  const plural = what === 'account' ? 'accounts' : 'addresses';
  if (size >= MAX_COUNTED) return `more than ${size - 1} ${plural}`;
  return size === 1 ? `one ${what}` : `${size} ${plural}`;
}

function timer(ms: number, call: () => void): () => void {
  const waiting = setTimeout(call, ms).unref();
  return () => clearTimeout(waiting);
}
