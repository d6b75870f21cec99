import { onAbort } from '../abort.js';
import type { Clock } from '../clock.js';
import type { CallOptions } from '../caller.js';
import type { Connection } from '../connection.js';
import { clientError, type ClientErrorCode, type LibvirtError } from '../errors.js';
import type { Procedure } from '../protocol/procedure.js';
import type { ReconnectingConnection } from './reconnecting-connection.js';

/** A queued call. */
interface Job {
  readonly domainUuid: string | null;
  readonly start: (connection: Connection) => void;
  readonly fail: (error: LibvirtError) => void;
  readonly procedure: string;
}

/** Settings of a {@link WorkQueue}. */
interface WorkQueueOptions {
  /** Name of the peer in error messages. */
  readonly label: string;
  /**
   * When the next call to the same domain may run. `settled`: when the caller of the previous
   * call stops waiting, so a power-off can overtake a reset that hung and timed out. `reply`: when
   * libvirtd replies or the connection ends, so libvirtd never has two calls to the domain. With
   * `reply`, calls after a call that timed out stay in the queue and may time out without being sent.
   */
  readonly nextCallAfter: 'settled' | 'reply';
  /**
   * Returns the link's last error, for a call that times out before the first attempt of the
   * queue's own connection ends.
   */
  readonly linkError: () => Error | null;
}

/** Running calls of one connection. */
interface Load {
  /** Calls without a reply, including calls that timed out or were aborted. */
  unanswered: number;
  /** Calls without a reply whose caller still waits. */
  awaited: number;
}

/**
 * Maximum number of parallel calls. libvirtd allows five per client (`max_client_requests`); the
 * fifth is reserved for keepalive.
 * @see https://libvirt.org/manpages/libvirtd.html
 */
const MAX_PARALLEL_CALLS = 4;

/**
 * Queue of calls that libvirtd may delay while a domain is busy. At most {@link MAX_PARALLEL_CALLS}
 * run in parallel. Calls to the same domain run in order, one at a time. With
 * `nextCallAfter: 'settled'`, a call may run beside one that timed out or was aborted and that
 * libvirtd still executes.
 *
 * libvirtd continues a call that timed out or was aborted, and the call still counts for the limit of
 * its connection. If the connection reaches its limit through such calls and another call is ready,
 * the queue retires the connection: new calls use a new connection, and the old one closes when no
 * caller waits for a reply on it.
 */
export class WorkQueue {
  readonly #waiting: Job[] = [];
  readonly #busyDomains = new Set<string>();
  readonly #loads = new WeakMap<Connection, Load>();
  /** Connections that get no new calls and wait for their last replies. */
  readonly #retired = new Set<Connection>();
  /** Calls without a reply whose caller still waits, on all connections. */
  #awaited = 0;
  #connecting = false;
  #closed = false;

  constructor(
    private readonly connection: ReconnectingConnection,
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
    const aborted = (): LibvirtError =>
      failure('CALL_ABORTED', 'aborted by the caller while it was queued', signal?.reason);
    if (this.#closed) return Promise.reject(failure('LINK_CLOSED', `the link to ${this.options.label} is closed`));
    if (signal?.aborted === true) return Promise.reject(aborted());
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
          this.#send(connection, job, (onFinished) =>
            connection.call(procedure, args, {
              timeoutMs: deadline - this.clock.now(),
              ...(signal === undefined ? {} : { signal }),
              onFinished,
            }),
          ).then(resolve, reject);
        },
        fail: (error) => {
          leaveQueue();
          reject(error);
        },
      };
      const removeAbort = onAbort(signal, () => this.#drop(job, aborted()));
      const timer =
        timeoutMs === Infinity
          ? null
          : this.clock.after(timeoutMs, () => this.#drop(job, this.#timeout(job, timeoutMs)));
      this.#waiting.push(job);
      this.#pump();
    });
  }

  /** Rejects all queued calls after a connection loss. */
  rejectAfterLoss(error: LibvirtError): void {
    this.#rejectWaiting('CONNECTION_LOST', error);
  }

  /** Rejects all queued calls and all later calls. Closes the retired connections, which rejects their calls. */
  close(): void {
    this.#closed = true;
    this.#rejectWaiting('LINK_CLOSED', clientError('LINK_CLOSED', `the link to ${this.options.label} was closed`));
    for (const connection of this.#retired) connection.close('LINK_CLOSED', 'closed by the caller');
    this.#retired.clear();
  }

  #rejectWaiting(code: 'CONNECTION_LOST' | 'LINK_CLOSED', cause: LibvirtError): void {
    for (const job of this.#waiting.splice(0)) {
      job.fail(
        clientError(code, `calling ${job.procedure}: ${cause.message}; the call was not sent`, {
          procedure: job.procedure,
          cause,
        }),
      );
    }
  }

  #timeout(job: Job, timeoutMs: number): LibvirtError {
    const { procedure } = job;
    if (this.connection.current === null) {
      const cause = this.connection.lastError ?? this.options.linkError();
      const why = cause === null ? `no answer from ${this.options.label} yet` : cause.message;
      return clientError('NOT_CONNECTED', `calling ${procedure}: not connected: ${why}`, {
        procedure,
        ...(cause === null ? {} : { cause }),
      });
    }
    const blocker =
      job.domainUuid !== null && this.#busyDomains.has(job.domainUuid)
        ? `an earlier call to domain ${job.domainUuid}`
        : 'calls to other domains';
    return clientError('CALL_TIMEOUT', `calling ${procedure}: waited ${timeoutMs} ms for ${blocker}, never sent`, {
      procedure,
    });
  }

  #drop(job: Job, error: LibvirtError): void {
    const index = this.#waiting.indexOf(job);
    if (index >= 0) this.#waiting.splice(index, 1);
    job.fail(error);
  }

  /** Sends the calls that can run, oldest first. */
  #pump(): void {
    for (let index = 0; index < this.#waiting.length && this.#awaited < MAX_PARALLEL_CALLS;) {
      const job = this.#waiting[index];
      if (job === undefined) return;
      if (job.domainUuid !== null && this.#busyDomains.has(job.domainUuid)) {
        index += 1;
        continue;
      }
      const connection = this.#availableConnection();
      if (connection === null) return;
      this.#waiting.splice(index, 1);
      job.start(connection);
    }
  }

  /**
   * Returns the connection if it can accept a call. Returns null if there is no connection. If the
   * connection has reached its limit of unanswered calls, retires it and returns null. After each
   * null, `#pump` runs again when there is a new connection.
   */
  #availableConnection(): Connection | null {
    const connection = this.connection.current;
    if (connection === null) {
      this.#connect();
      return null;
    }
    const load = this.#loadOf(connection);
    if (load.unanswered < MAX_PARALLEL_CALLS) return connection;
    // Fewer callers wait than the limit allows, so some of these calls timed out or were aborted.
    this.#retired.add(connection);
    this.connection.release();
    this.#closeIfUnused(connection, load);
    this.#connect();
    return null;
  }

  #connect(): void {
    if (this.#connecting) return;
    this.#connecting = true;
    // Each job has its own timeout. This wait ends when there is a connection or the link closes.
    this.connection.get({ timeoutMs: Infinity }).then(
      () => {
        this.#connecting = false;
        this.#pump();
      },
      () => {
        this.#connecting = false; // The link is closed, and `close` has rejected the jobs.
      },
    );
  }

  #loadOf(connection: Connection): Load {
    const existing = this.#loads.get(connection);
    if (existing !== undefined) return existing;
    const load: Load = { unanswered: 0, awaited: 0 };
    this.#loads.set(connection, load);
    return load;
  }

  async #send<R>(connection: Connection, job: Job, call: (onFinished: () => void) => Promise<R>): Promise<R> {
    const load = this.#loadOf(connection);
    load.unanswered += 1;
    load.awaited += 1;
    this.#awaited += 1;
    const { domainUuid } = job;
    if (domainUuid !== null) this.#busyDomains.add(domainUuid);
    const freeDomain = (): void => {
      if (domainUuid !== null) this.#busyDomains.delete(domainUuid);
    };
    try {
      return await call(() => {
        load.unanswered -= 1;
        if (this.options.nextCallAfter === 'reply') freeDomain();
        this.#pump();
      });
    } finally {
      load.awaited -= 1;
      this.#awaited -= 1;
      if (this.options.nextCallAfter === 'settled') freeDomain();
      this.#closeIfUnused(connection, load);
      this.#pump();
    }
  }

  #closeIfUnused(connection: Connection, load: Load): void {
    if (load.awaited > 0 || !this.#retired.delete(connection)) return;
    connection.close('CONNECTION_LOST', 'too many calls of this connection have no reply');
  }
}
