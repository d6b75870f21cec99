import { onAbort } from './abort.js';
import type { Clock } from './clock.js';
import type { CallOptions } from './caller.js';
import type { Connection } from './connection.js';
import { clientError, type ClientErrorCode, type LibvirtError } from './errors.js';
import type { Procedure } from './protocol/procedure.js';
import type { StandingConnection } from './standing-connection.js';

/** Where calls wait for their turn. */
interface Job {
  readonly domainUuid: string | null;
  readonly start: (connection: Connection) => void;
  readonly fail: (error: LibvirtError) => void;
  readonly procedure: string;
}

/** Settings of a {@link WorkQueue}. */
export interface WorkQueueOptions {
  /** What the errors call the other side. */
  readonly label: string;
  /**
   * When a domain's turn ends: with the caller's wait, so that a power-off passes a reset that hangs, or with the answer, so that
   * libvirtd never has two calls of that domain. There, the calls after a time-out wait, and time out without being sent.
   */
  readonly turnEnds: 'with-wait' | 'with-answer';
}

/** What is under way on one connection. */
interface Load {
  /** Calls that libvirtd has not answered, given up here or not: each takes one of its five places. */
  unanswered: number;
  /** Those of them that somebody still waits for. */
  awaited: number;
}

/**
 * libvirtd admits five requests per client (`max_client_requests`); the fifth place stays free for keepalive.
 * @see https://libvirt.org/manpages/libvirtd.html
 */
export const WORK_PLACES = 4;

/**
 * The calls that may block on a machine, one at a time per domain and in order, at most {@link WORK_PLACES} awaited at once.
 *
 * A call that is given up goes on in libvirtd and keeps its place there, but not its domain's turn: a forced power-off must get
 * past a reset that hangs. When given-up calls hold so many places that a call which could run cannot be sent, the connection is
 * retired: a fresh one takes the new calls, the old one closes as soon as nobody waits for an answer on it.
 */
export class WorkQueue {
  readonly #waiting: Job[] = [];
  readonly #busyDomains = new Set<string>();
  readonly #loads = new WeakMap<Connection, Load>();
  /** Connections that only wait for their last answers. */
  readonly #retired = new Set<Connection>();
  #awaited = 0;
  #asking = false;
  #closed = false;

  constructor(
    private readonly connection: StandingConnection,
    private readonly clock: Clock,
    private readonly options: WorkQueueOptions,
  ) {}

  /** @see Link.work */
  run<A, R>(
    domainUuid: string | null,
    procedure: Procedure<A, R>,
    args: A,
    options: CallOptions & { readonly timeoutMs: number },
  ): Promise<R> {
    const { timeoutMs, signal } = options;
    const { name } = procedure;
    const deadline = this.clock.now() + timeoutMs;
    const failure = (code: ClientErrorCode, why: string, cause?: unknown): LibvirtError =>
      clientError(code, `calling ${name}: ${why}`, { procedure: name, cause });
    const givenUp = (): LibvirtError =>
      failure('CALL_ABORTED', 'given up by the caller while it waited for its turn', signal?.reason);
    if (this.#closed) return Promise.reject(failure('LINK_CLOSED', `the link to ${this.options.label} is closed`));
    if (signal?.aborted === true) return Promise.reject(givenUp());
    return new Promise<R>((resolve, reject) => {
      const leaveQueue = (): void => {
        timer?.cancel();
        removeAbort();
      };
      const job: Job = {
        domainUuid: domainUuid?.toLowerCase() ?? null,
        procedure: name,
        start: (connection) => {
          leaveQueue();
          this.#send(connection, job, (onReleased) =>
            connection.call(procedure, args, {
              timeoutMs: deadline - this.clock.now(),
              ...(signal === undefined ? {} : { signal }),
              onReleased,
            }),
          ).then(resolve, reject);
        },
        fail: (error) => {
          leaveQueue();
          reject(error);
        },
      };
      const removeAbort = onAbort(signal, () => this.#drop(job, givenUp()));
      const timer =
        timeoutMs === Infinity
          ? null
          : this.clock.after(timeoutMs, () => this.#drop(job, this.#timeout(job, timeoutMs)));
      this.#waiting.push(job);
      this.#pump();
    });
  }

  /** The connection was lost: what waited behind it is rejected, never having been sent. */
  lost(error: LibvirtError): void {
    this.#rejectWaiting('CONNECTION_LOST', error);
  }

  /** Rejects everything, closes retired connections. */
  close(): void {
    this.#closed = true;
    this.#rejectWaiting('LINK_CLOSED', clientError('LINK_CLOSED', `the link to ${this.options.label} was closed`));
    for (const connection of this.#retired) connection.close('LINK_CLOSED', 'closed by the caller');
    this.#retired.clear();
  }

  #rejectWaiting(code: 'CONNECTION_LOST' | 'LINK_CLOSED', cause: LibvirtError): void {
    for (const job of this.#waiting.splice(0)) {
      job.fail(
        clientError(code, `calling ${job.procedure}: ${cause.message}, before its turn came`, {
          procedure: job.procedure,
          cause,
        }),
      );
    }
  }

  #timeout(job: Job, timeoutMs: number): LibvirtError {
    const { procedure } = job;
    if (this.connection.current === null) {
      const cause = this.connection.lastError;
      const why = cause === null ? `no answer from ${this.options.label} yet` : cause.message;
      return clientError('NOT_CONNECTED', `calling ${procedure}: not connected: ${why}`, {
        procedure,
        ...(cause === null ? {} : { cause }),
      });
    }
    const behind =
      job.domainUuid !== null && this.#busyDomains.has(job.domainUuid)
        ? `an earlier call to domain ${job.domainUuid}`
        : 'calls to other domains';
    return clientError('CALL_TIMEOUT', `calling ${procedure}: waited ${timeoutMs} ms for ${behind}, never sent`, {
      procedure,
    });
  }

  #drop(job: Job, error: LibvirtError): void {
    const at = this.#waiting.indexOf(job);
    if (at >= 0) this.#waiting.splice(at, 1);
    job.fail(error);
  }

  /** Starts what may start, oldest first. */
  #pump(): void {
    for (let at = 0; at < this.#waiting.length && this.#awaited < WORK_PLACES;) {
      const job = this.#waiting[at];
      if (job === undefined) return;
      if (job.domainUuid !== null && this.#busyDomains.has(job.domainUuid)) {
        at += 1;
        continue;
      }
      const connection = this.#usable();
      if (connection === null) return;
      this.#waiting.splice(at, 1);
      job.start(connection);
    }
  }

  /** The connection, if it has a free place; else null, and `#pump` is called when there is one. */
  #usable(): Connection | null {
    const connection = this.connection.current;
    if (connection === null) {
      this.#ask();
      return null;
    }
    const load = this.#loadOf(connection);
    if (load.unanswered < WORK_PLACES) return connection;
    // Fewer than WORK_PLACES are awaited, so given-up calls hold places here: it starves.
    this.#retired.add(connection);
    this.connection.release();
    this.#closeIfDone(connection, load);
    this.#ask();
    return null;
  }

  #ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    // Each job has its own time-out; this wait ends with the connection or the link.
    this.connection.get({ timeoutMs: Infinity }).then(
      () => {
        this.#asking = false;
        this.#pump();
      },
      () => {
        this.#asking = false; // Only the link's end comes here, and `close` has rejected the jobs.
      },
    );
  }

  #loadOf(connection: Connection): Load {
    const known = this.#loads.get(connection);
    if (known !== undefined) return known;
    const load: Load = { unanswered: 0, awaited: 0 };
    this.#loads.set(connection, load);
    return load;
  }

  async #send<R>(connection: Connection, job: Job, call: (onReleased: () => void) => Promise<R>): Promise<R> {
    const load = this.#loadOf(connection);
    load.unanswered += 1;
    load.awaited += 1;
    this.#awaited += 1;
    const { domainUuid } = job;
    if (domainUuid !== null) this.#busyDomains.add(domainUuid);
    const endTurn = (): void => {
      if (domainUuid !== null) this.#busyDomains.delete(domainUuid);
    };
    try {
      return await call(() => {
        load.unanswered -= 1;
        if (this.options.turnEnds === 'with-answer') endTurn();
        this.#pump();
      });
    } finally {
      load.awaited -= 1;
      this.#awaited -= 1;
      if (this.options.turnEnds === 'with-wait') endTurn();
      this.#closeIfDone(connection, load);
      this.#pump();
    }
  }

  #closeIfDone(connection: Connection, load: Load): void {
    if (load.awaited > 0 || !this.#retired.delete(connection)) return;
    connection.close('CONNECTION_LOST', 'given-up calls used up the work connection');
  }
}
