/** The queues of machines that several replicas change: an operation waits for earlier ones of all replicas. */
import { setMaxListeners } from 'node:events';
import { parseJson } from '@rackless/daemon/text/json.js';
import { z } from 'zod';
import { LeaseLost, LeaseQueues, TicketCancelled, type Ticket } from '../../replicas/lease-queue.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { DriverError } from '../driver-error.js';
import type { SharedQueues } from './machine-queue.js';
import type { Operations, QueueOptions, TurnCheck } from './operation-queue.js';

const EJECTS = 'ejects';
const announceScript = `redis.call('PUBLISH', KEYS[1], ARGV[1])`;
const ejectSchema = z.object({ replica: z.string(), uuid: z.string(), device: z.string() });
/** The reason of a cancellation, in the form in which it is stored. */
const reasonSchema = z.object({ kind: z.enum(['conflict', 'insertFailed', 'unavailable']), message: z.string() });

/** Opens the queues that the replicas share. @throws {StoreUnavailable} */
export async function openSharedQueues(store: SharedStore): Promise<SharedQueues> {
  const leases = await LeaseQueues.open(store);
  const listeners: ((uuid: string, device: string) => void)[] = [];
  await store.listen(EJECTS, (text) => {
    const eject = ejectOf(text);
    // Ignores the ejects of this replica, and announcements that it cannot read: such an eject waits
    // until the insert ends.
    if (eject === undefined || eject.replica === store.replica) return;
    for (const listener of listeners) listener(eject.uuid, eject.device);
  });
  return {
    operations: new SharedOperations(leases, 'operation'),
    edits: new SharedOperations(leases, 'edit'),
    ejects: {
      announce: (uuid, device) => {
        const text = JSON.stringify({ replica: store.replica, uuid, device });
        // If the announcement fails, the eject waits until the insert ends.
        store.run(announceScript, [EJECTS], [text]).catch(() => undefined);
      },
      onEject: (listener) => void listeners.push(listener),
    },
  };
}

/** A first-in first-out queue per key, for all replicas. */
class SharedOperations implements Operations {
  readonly #leases: LeaseQueues;
  readonly #kind: string;
  readonly #closing = new AbortController();
  /** Numbers of the operations of this replica by key: all of them, and those that run. */
  readonly #counts = new Map<string, { total: number; running: number }>();
  readonly #idleWaiters = new Set<() => void>();

  constructor(leases: LeaseQueues, kind: string) {
    this.#leases = leases;
    this.#kind = kind;
    setMaxListeners(0, this.#closing.signal);
  }

  async run<Result>(
    key: string,
    operation: (check?: TurnCheck) => Promise<Result>,
    { signal, label = 'other' }: QueueOptions = {},
  ): Promise<Result> {
    signal?.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    const counts = this.#counts.get(key) ?? { total: 0, running: 0 };
    this.#counts.set(key, counts);
    counts.total += 1;
    const ticket = this.#leases.join(this.#nameOf(key), label);
    try {
      await this.#turn(ticket, signal);
      counts.running += 1;
      try {
        return await operation(() => checkTurn(ticket));
      } finally {
        counts.running -= 1;
      }
    } finally {
      ticket.leave();
      counts.total -= 1;
      if (counts.total === 0) this.#counts.delete(key);
      if (this.#counts.size === 0) this.#notifyIdle();
    }
  }

  isBusy(key: string): boolean {
    return (this.#counts.get(key)?.running ?? 0) > 0;
  }

  cancelWaiting(
    key: string,
    label: string,
    { kind, message }: DriverError,
    options: { readonly before?: string } = {},
  ): void {
    // Ignores an error of the store: while the store does not answer, no waiting operation begins.
    this.#leases
      .cancelWaiting(this.#nameOf(key), label, JSON.stringify({ kind, message }), options)
      .catch(() => undefined);
  }

  async close(): Promise<void> {
    const reason = 'waiting for an earlier operation: the service is shutting down';
    this.#closing.abort(new DriverError('unavailable', reason));
    if (this.#counts.size === 0) return;
    await new Promise<void>((resolve) => this.#idleWaiters.add(resolve));
  }

  #nameOf(key: string): string {
    return `${this.#kind}:${key}`;
  }

  #notifyIdle(): void {
    for (const resolve of this.#idleWaiters) resolve();
    this.#idleWaiters.clear();
  }

  /** Waits for the turn. @throws the reason of a cancellation, or of a signal. */
  async #turn(ticket: Ticket, signal: AbortSignal | undefined): Promise<void> {
    const signals = signal === undefined ? [this.#closing.signal] : [this.#closing.signal, signal];
    const ended = new AbortController();
    const aborted = new Promise<never>((_resolve, reject) => {
      for (const one of signals) {
        const onAbort = (): void => reject(reasonOf(one));
        one.addEventListener('abort', onAbort, { once: true, signal: ended.signal });
      }
    });
    try {
      await Promise.race([ticket.held, aborted]);
    } catch (error) {
      throw error instanceof TicketCancelled ? cancellationError(error) : error;
    } finally {
      ended.abort();
    }
  }
}

/** Checks that the ticket still has its turn. @throws {DriverError} unavailable, if the turn is lost. */
async function checkTurn(ticket: Ticket): Promise<void> {
  try {
    await ticket.check();
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    const why = 'this replica, or the shared store, did not answer for too long. Read the machine to see its state';
    throw new DriverError('unavailable', `changing the machine: ${why}`, { cause: error });
  }
}

function cancellationError({ message: text }: TicketCancelled): DriverError {
  const { data } = reasonSchema.safeParse(parseJson(text));
  if (data === undefined) return new DriverError('unavailable', 'another replica has cancelled the operation');
  return new DriverError(data.kind, data.message);
}

/**
 * Parses the announcement of an eject; undefined if another version of the daemon has written it in
 * another format.
 */
function ejectOf(text: string): z.infer<typeof ejectSchema> | undefined {
  return ejectSchema.safeParse(parseJson(text)).data;
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error('waiting for an earlier operation: the request was aborted');
}
