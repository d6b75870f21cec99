/**
 * Applies the planned delays and failures of machines in memory. With one seed, the same calls for
 * a machine at the same times have the same results in each run of the daemon, whatever happens to
 * other machines.
 */
import { DriverError } from '../driver-error.js';
import type { SystemRef } from '../snapshot/system-snapshot.js';
import { drawOf } from './fake-chance.js';
import type { Duration, FailingOperation, FakePlan, MachineOperation, PlannedFailure } from './fake-plan.js';

/** The clock of a timetable. */
export interface FakeClock {
  /** A monotonic time in milliseconds. */
  now(): number;
  /**
   * Calls a function once after a delay in milliseconds.
   * @returns a function that cancels the call.
   */
  later(ms: number, call: () => void): () => void;
}

interface FakeTimetableOptions {
  readonly plan: FakePlan;
  readonly clock: FakeClock;
  /**
   * Removes a machine.
   * @returns the function that adds it again; undefined if there is no such machine.
   */
  readonly remove: (uuid: string) => (() => void) | undefined;
}

/** Maximum time of a timer of Node.js. A wait of this time or longer ends only by its signal or by `close`. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Delays the calls of one driver, or lets them fail, as the plan says. */
export class FakeTimetable {
  readonly #options: FakeTimetableOptions;
  /** Number of calls by machine and operation. The operation `any` counts all calls of the machine. */
  readonly #calls = new Map<string, number>();
  /** Functions that each end one wait or one timer. */
  readonly #ends = new Set<(reason: DriverError) => void>();
  #startedAt: number;

  constructor(options: FakeTimetableOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
  }

  /** Starts the time of the plan, and the timers of machines that vanish without a call. */
  start(): void {
    const { plan, clock } = this.#options;
    this.#startedAt = clock.now();
    const vanishing = new Map<PlannedFailure, string[]>();
    for (const [uuid, { failures }] of plan.machines) {
      for (const failure of failures) {
        if (failure.operation !== undefined || !this.#isAffected(failure, uuid)) continue;
        const uuids = vanishing.get(failure);
        if (uuids === undefined) vanishing.set(failure, [uuid]);
        else uuids.push(uuid);
      }
    }
    for (const [failure, uuids] of vanishing)
      this.#callAfter(failure.afterMs, () => uuids.forEach((uuid) => this.#removeMachine(uuid, failure, 1)));
  }

  /**
   * Counts a call. Resolves when the operation may begin.
   * @returns undefined if it may begin at once.
   * @throws {DriverError} the planned failure; unavailable, if the driver closes; the reason of the
   *   signal, if it aborts the wait.
   */
  before(operation: MachineOperation, machine: SystemRef, signal?: AbortSignal): Promise<void> | undefined {
    const plan = this.#options.plan.machines.get(machine.uuid);
    if (plan === undefined) return undefined;
    const { uuid, name } = machine;
    const call = this.#count(uuid, operation);
    const failure = this.#failureOf(plan.failures, uuid, { operation, call, total: this.#count(uuid, 'any') });
    // The request for a shutdown returns at once. The guest then needs the planned time.
    const delay = operation === 'shutdown' ? 0 : this.#durationOf(plan.delays[operation] ?? 0, [uuid, operation, call]);
    if (failure === undefined) return delay === 0 ? undefined : this.wait(delay, signal);
    const doing = `${operation.replace('_', ' ')} of machine ${name}`;
    return this.#takeEffect(failure, { uuid, doing, operation, call, delay }, signal);
  }

  /** Does the same as {@link before} for a list of the machines. Lists have failures (also `slow`), but no `delays`. */
  beforeList(): Promise<void> | undefined {
    const call = this.#count('', 'list');
    const failure = this.#failureOf(this.#options.plan.list, '', { operation: 'list', call, total: call });
    const listed = { uuid: '', doing: 'listing the machines', operation: 'list', call, delay: 0 } as const;
    return failure === undefined ? undefined : this.#takeEffect(failure, listed, undefined);
  }

  /**
   * Returns how long the guest needs to shut down. Call it after {@link before}, which counts the
   * shutdowns of the machine: a random time depends on their number.
   */
  shutdownMs(uuid: string): number {
    const delay = this.#options.plan.machines.get(uuid)?.delays.shutdown ?? 0;
    return this.#durationOf(delay, [uuid, 'shutdown', this.#calls.get(`${uuid} shutdown`) ?? 0]);
  }

  /**
   * Resolves after a time; never, if it is {@link MAX_TIMER_MS} or longer.
   * @throws {DriverError} unavailable, if the driver closes; the reason of the signal, if it aborts.
   */
  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        cancel();
        this.#ends.delete(close);
        signal?.removeEventListener('abort', abort);
        settle();
      };
      const abort = (): void => end(() => reject(signal?.reason as Error));
      const close = (reason: DriverError): void => end(() => reject(reason));
      const cancel = ms >= MAX_TIMER_MS ? () => undefined : this.#options.clock.later(ms, () => end(resolve));
      this.#ends.add(close);
      signal?.addEventListener('abort', abort, { once: true });
      if (signal?.aborted === true) abort();
    });
  }

  /** Rejects all waits with `unavailable`, and cancels the timers. */
  close(): void {
    const reason = new DriverError('unavailable', 'waiting for a machine: the service is shutting down');
    for (const end of [...this.#ends]) end(reason);
  }

  #count(uuid: string, operation: FailingOperation): number {
    const key = `${uuid} ${operation}`;
    const count = (this.#calls.get(key) ?? 0) + 1;
    this.#calls.set(key, count);
    return count;
  }

  #failureOf(
    failures: readonly PlannedFailure[],
    uuid: string,
    { operation, call, total }: { readonly operation: FailingOperation; readonly call: number; readonly total: number },
  ): PlannedFailure | undefined {
    if (failures.length === 0) return undefined;
    const time = this.#options.clock.now() - this.#startedAt;
    return failures.find((failure) => {
      const { afterMs, forMs, calls, every, share, place } = failure;
      if (failure.operation !== operation && failure.operation !== 'any') return false;
      if (time < afterMs || time >= afterMs + forMs) return false;
      const number = failure.operation === 'any' ? total : call;
      if (calls?.includes(number) === false || number % every !== 0) return false;
      if (!this.#isAffected(failure, uuid)) return false;
      return share === 1 || drawOf(this.#options.plan.seed, place, 'call', uuid, number) < share;
    });
  }

  /** Returns whether a failure affects a machine: a draw that is the same for all calls. */
  #isAffected({ machineShare, place }: PlannedFailure, uuid: string): boolean {
    return machineShare === 1 || drawOf(this.#options.plan.seed, place, 'machine', uuid) < machineShare;
  }

  async #takeEffect(
    failure: PlannedFailure,
    failing: {
      readonly uuid: string;
      readonly doing: string;
      readonly operation: MachineOperation | 'list';
      readonly call: number;
      /** The planned delay of the operation. */
      readonly delay: number;
    },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { effect, lasts, place } = failure;
    const { uuid, doing, operation, call, delay } = failing;
    const because = `${doing}: planned by ${place} of the machine file`;
    const lastsMs = this.#durationOf(lasts, [place, uuid, operation, call]);
    switch (effect) {
      case 'slow':
        await this.wait(delay + lastsMs, signal);
        return;
      case 'hang':
        await this.wait(lastsMs, signal);
        throw new DriverError('unavailable', because);
      case 'unavailable':
        throw new DriverError('unavailable', because);
      case 'vanish':
        this.#removeMachine(uuid, failure, call);
        throw new DriverError('notFound', because);
      case 'error':
        if (delay > 0) await this.wait(delay, signal);
        throw new DriverError(operation === 'insert' ? 'mediaUnreachable' : 'internal', because);
    }
  }

  #removeMachine(uuid: string, { lasts, place }: PlannedFailure, call: number): void {
    const restore = this.#options.remove(uuid);
    const lastsMs = this.#durationOf(lasts, [place, uuid, 'vanish', call]);
    if (restore !== undefined && lastsMs < MAX_TIMER_MS) this.#callAfter(lastsMs, restore);
  }

  #durationOf(duration: Duration, keys: readonly (string | number)[]): number {
    if (typeof duration === 'number') return duration;
    const [min, max] = duration;
    return min + (max - min) * drawOf(this.#options.plan.seed, 'duration', ...keys);
  }

  #callAfter(ms: number, call: () => void): void {
    const cancel = this.#options.clock.later(ms, () => {
      this.#ends.delete(end);
      call();
    });
    const end = (): void => {
      cancel();
      this.#ends.delete(end);
    };
    this.#ends.add(end);
  }
}

/** The clock of the process. */
export const processClock: FakeClock = {
  now: () => performance.now(),
  later: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};
