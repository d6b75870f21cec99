/** One worker, as the first process of the group sees it. */
import type { Worker as ClusterWorker } from 'node:cluster';
import { withDeadline } from '@rackless/daemon/deadline.js';
import type { MetricsSnapshot } from '../metrics-snapshot.js';
import type { GroupCalls, WorkerCalls } from './calls.js';
import { Channel, type Answers } from './channel.js';
import { SentConnections } from './sent-connections.js';

/** How long the first process waits for the answer of a worker, in milliseconds. */
const ANSWER_MS = 5000;
/** How long a stopped worker may take to exit, in milliseconds. */
const EXIT_MS = 5000;

/** How a worker has ended. */
export interface Ended {
  /** null: a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
}

/** Returns how a process has ended, for the operator. */
export const wordOf = (code: number | null, signal: string | null): string =>
  signal ?? `exit code ${code ?? 'unknown'}`;

/** A worker process. */
export class WorkerProcess {
  /** The worker's number in the group, from 1. The process that replaces it gets the same number. */
  readonly number: number;
  /** Identifies the process in the group. */
  readonly id: number;
  readonly pid: number | undefined;
  readonly channel: Channel<WorkerCalls, GroupCalls>;
  /** Resolves when the process has ended. */
  readonly ended: Promise<Ended>;
  /** Whether the process can get messages and has not ended. Then it gets changes of keys and events of the group. */
  receivesMessages = false;
  /** Resolves when the process can get messages. */
  readonly ready: Promise<void>;
  /** Whether the process serves clients. */
  isServing = false;
  /** The number of the configuration that the process uses. */
  configuration = 0;
  /** Number of pings since the last answer of the process. */
  #unanswered = 0;
  /** The latest metrics of the worker: it sends them when it serves /metrics, or answers `snapshot`. */
  lastSnapshot: MetricsSnapshot | null = null;
  readonly #process: ClusterWorker;
  readonly #connections: SentConnections;
  #hello: () => void = () => undefined;

  constructor(number: number, worker: ClusterWorker, answersFor: (worker: WorkerProcess) => Answers<GroupCalls>) {
    this.number = number;
    this.#process = worker;
    this.id = worker.id;
    this.pid = worker.process.pid;
    this.#connections = new SentConnections(worker);
    // A message to a process that has just ended is an error. The event `exit` follows and suffices.
    worker.on('error', () => undefined);
    this.channel = new Channel<WorkerCalls, GroupCalls>(
      {
        send: (message, done) => worker.process.send(message, undefined, undefined, done),
        onMessage: (listener) => worker.process.on('message', listener),
      },
      answersFor(this),
    );
    this.ready = new Promise((resolve) => {
      this.#hello = resolve;
    });
    this.ended = new Promise((resolve) => {
      worker.once('exit', (code: number | null, signal: string | null) => {
        this.receivesMessages = false;
        this.isServing = false;
        this.channel.close();
        resolve({ code, signal });
      });
    });
  }

  /**
   * When the process has ended, sends the connections that it has not confirmed to other workers, or closes them.
   * @param canPassOn whether there are other workers.
   */
  passConnectionsOn(canPassOn: () => boolean): void {
    // All confirmations have arrived when the process emits `close`, but not yet when it emits `exit`. After `stop`,
    // `close` does not come: then the end of the first process closes the connections.
    this.#process.process.once('close', () => {
      // node:cluster must not choose the ended worker again. It does not always notice the end of a killed worker.
      this.#process.disconnect();
      this.#connections.answer(canPassOn());
    });
  }

  /** Notes that the process can get messages. */
  noteHello(): null {
    this.#hello();
    return null;
  }

  /** Calls the worker. Never rejects. @returns undefined if it does not answer in 5 s, or answers with an error. */
  ask<Name extends keyof WorkerCalls>(
    name: Name,
    params: WorkerCalls[Name]['params'],
  ): Promise<WorkerCalls[Name]['result'] | undefined> {
    return withDeadline(this.channel.call(name, params), ANSWER_MS, () => undefined).catch(() => undefined);
  }

  /** Returns the metrics of the worker; if it does not answer, {@link lastSnapshot}. */
  async snapshot(): Promise<MetricsSnapshot | null> {
    this.lastSnapshot = (await this.ask('snapshot', null)) ?? this.lastSnapshot;
    return this.lastSnapshot;
  }

  /** Finds out whether the event loop of the worker runs. @returns the number of earlier pings without an answer. */
  ping(): number {
    const unanswered = this.#unanswered;
    this.#unanswered += 1;
    this.channel.call('ping', null).then(
      () => (this.#unanswered = 0),
      () => undefined,
    );
    return unanswered;
  }

  /**
   * Ends the process: waits up to `limitMs` for its running requests, then up to {@link EXIT_MS} for its exit, and
   * then sends SIGKILL.
   */
  async stop(limitMs: number): Promise<void> {
    if (this.receivesMessages)
      await withDeadline(this.channel.call('stop', null), limitMs, () => undefined).catch(() => undefined);
    if (this.#process.isConnected()) this.#process.process.disconnect();
    await withDeadline(this.ended, EXIT_MS, () => this.kill());
    await this.ended;
  }

  kill(): void {
    this.#process.process.kill('SIGKILL');
  }
}
