/**
 * The first process of a group. It starts the workers and replaces those that end, handles signals and reloads for all
 * of them, and owns the store in files. It serves no clients itself.
 */
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '@rackless/daemon/log/log.js';
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { watchFiles, type FileWatch } from '../config/file-watch.js';
import { ConfigError, type Flags, type LoadedConfig } from '../config/load.js';
import { checkReplacement, logServing, replaceConfig } from '../reload.js';
import type { OwnedStore } from '../store/store.js';
import type { FileTexts, StartResult } from './calls.js';
import { ChannelError } from './channel.js';
import { GroupServices } from './group-services.js';
import { RestartPause } from './restart-pause.js';
import { wordOf, WorkerProcess, type Ended } from './worker-process.js';

/** A configuration, and the texts of the files from which workers load it. */
export interface ConfigWithTexts {
  readonly config: LoadedConfig;
  readonly texts: FileTexts;
}

/** Options of {@link createGroup}. */
interface GroupOptions {
  readonly loaded: ConfigWithTexts;
  readonly file: string | undefined;
  readonly flags: Flags;
  /** Loads the configuration again from the same files. @throws {ConfigError} */
  readonly load: () => Promise<ConfigWithTexts>;
  /** The store in files; undefined: there is none. {@link Group.close} closes it. */
  readonly store: OwnedStore | undefined;
  readonly log: Log;
}

/** Milliseconds between two pings. A worker that does not answer three pings is replaced: its event loop hangs. */
const PING_MS = 20_000;
const MAX_UNANSWERED = 3;
/** How long workers may take to stop beyond the drain time, in milliseconds. */
const STOP_MARGIN_MS = 10_000;

/** The error if a group cannot start. */
export class GroupStartError extends Error {
  override readonly name = 'GroupStartError';
  readonly exitCode: number;

  constructor(message: string, code: number) {
    super(message);
    this.exitCode = code;
  }
}

/** Creates a group without workers. */
export function createGroup(options: GroupOptions): Group {
  // The kernel would give most connections of a burst to one worker. `setupPrimary` reads this policy.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ exec: fileURLToPath(new URL('worker-entry.js', import.meta.url)), args: [] });
  return new Group(options);
}

/** A group of workers. */
export class Group {
  readonly #options: GroupOptions;
  readonly #log: Log;
  readonly #services: GroupServices;
  readonly #workers = new Set<WorkerProcess>();
  readonly #closing = new AbortController();
  #watch: FileWatch | undefined;
  #pings: NodeJS.Timeout | undefined;
  #loaded: ConfigWithTexts;
  /** The number of the present configuration. Each successful reload adds 1. */
  #configuration = 0;
  #lastReload = Promise.resolve();
  /** The worker that checks deployments in the background. */
  #checker: WorkerProcess | undefined;
  #addresses: readonly string[] = [];

  constructor(options: GroupOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#loaded = options.loaded;
    this.#services = new GroupServices(this.#workers, options.store);
  }

  /** Base URLs that clients may use. */
  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Starts all workers. @throws {GroupStartError} one cannot start. Then all have ended, and the store is closed. */
  async start(): Promise<void> {
    const { config } = this.#loaded;
    const { numWorkers } = config.listen;
    const started = await Promise.all(Array.from({ length: numWorkers }, (_, index) => this.#startWorker(index + 1)));
    if (this.#isClosing()) return;
    const results = started.map(({ result }) => result);
    const failed = results.find((result) => 'fault' in result);
    if (failed !== undefined && 'fault' in failed) {
      this.#closing.abort();
      for (const { worker } of started) worker.kill();
      await Promise.all(started.map(({ worker }) => worker.ended));
      await this.#options.store?.close();
      throw new GroupStartError(failed.fault, failed.exitCode);
    }
    this.#addresses = results.flatMap((result, index) =>
      index === 0 && 'addresses' in result ? result.addresses : [],
    );
    for (const { worker } of started) void this.#keep(worker);
    this.#pings = setInterval(() => this.#pingAll(), PING_MS).unref();
    this.#watch = watchFiles({
      files: config.watchedFiles,
      onChange: () => {
        this.#log.info('a file of the configuration has changed');
        void this.reload();
      },
    });
    logServing(this.#addresses, config, this.#log, { workers: numWorkers });
  }

  /** Loads the configuration again. All serving workers use it, or none if one finds a fault. Never rejects. */
  reload(): Promise<void> {
    const watch = this.#watch;
    if (watch === undefined) return Promise.resolve();
    let next = this.#loaded;
    const load = async (): Promise<LoadedConfig> => {
      next = await this.#options.load();
      return next.config;
    };
    this.#lastReload = this.#lastReload.then(() =>
      replaceConfig({
        current: () => this.#loaded.config,
        load,
        log: this.#log,
        watch,
        isClosed: () => this.#isClosing(),
        prepare: () => this.#prepare(next),
      }),
    );
    return this.#lastReload;
  }

  /** Completes running requests, ends all workers, and closes the store. Kills workers that do not stop in time. */
  async close(): Promise<void> {
    // During the start, some workers may already serve clients.
    this.#closing.abort();
    this.#watch?.close();
    clearInterval(this.#pings);
    const { drainDelayMs, drainMs } = this.#loaded.config.listen;
    await Promise.all([...this.#workers].map((worker) => worker.stop(drainDelayMs + drainMs + STOP_MARGIN_MS)));
    await this.#options.store?.close();
  }

  /** Starts a worker. @returns the process, and a fault if it does not serve clients. */
  async #startWorker(number: number): Promise<{ readonly worker: WorkerProcess; readonly result: StartResult }> {
    for (;;) {
      const worker = new WorkerProcess(number, cluster.fork(), (one) => this.#services.answersFor(one));
      worker.passConnectionsOn(() => this.#serving().length > 0);
      this.#workers.add(worker);
      const result = await this.#begin(worker);
      // A SIGHUP to all processes of the service ends a process that does not run its first line yet. Start another.
      if (!('fault' in result) || result.signal !== 'SIGHUP' || this.#isClosing()) return { worker, result };
      this.#workers.delete(worker);
      await this.#services.remove(worker);
    }
  }

  /** Makes a worker process serve clients. @returns a fault if it does not. */
  async #begin(worker: WorkerProcess): Promise<StartResult & { readonly signal?: string | null }> {
    const { file, flags } = this.#options;
    await Promise.race([worker.ready, worker.ended]);
    worker.receivesMessages = true;
    worker.configuration = this.#configuration;
    const { texts } = this.#loaded;
    const { number } = worker;
    const count = this.#options.loaded.config.listen.numWorkers;
    const options = { number, count, file: file ?? null, flags, texts, ...this.#services.startState() };
    let result: StartResult;
    try {
      result = await worker.channel.call('start', options);
      // A reload during the start did not reach this worker, so it catches up.
      const fault = 'addresses' in result ? await this.#catchUp(worker) : undefined;
      if (fault !== undefined) return { fault, exitCode: exitCode.failed };
    } catch (error) {
      // After an unexpected error of its start, the process still runs.
      worker.kill();
      const { code, signal } = await worker.ended;
      const why = error instanceof Error && !(error instanceof ChannelError) ? error.message : wordOf(code, signal);
      return { fault: `a worker has ended at its start: ${why}`, exitCode: exitCode.failed, signal };
    }
    if ('addresses' in result) {
      worker.isServing = true;
      this.#chooseChecker();
    }
    return result;
  }

  /** Makes a worker use the present configuration. @returns a fault if it cannot. */
  async #catchUp(worker: WorkerProcess): Promise<string | undefined> {
    while (worker.configuration !== this.#configuration) {
      worker.configuration = this.#configuration;
      const [fault] = await worker.channel.call('prepare', { texts: this.#loaded.texts });
      if (fault !== undefined) return fault;
      await worker.channel.call('commit', null);
    }
    return undefined;
  }

  /** Makes a worker use the present configuration, or ends it if it cannot. Another process then replaces it. */
  async #catchUpOrEnd(worker: WorkerProcess): Promise<void> {
    const why = await this.#catchUp(worker).catch(String);
    if (why === undefined) return;
    this.#log.error('a worker cannot use the configuration', { worker: worker.number, why });
    worker.kill();
  }

  /** Replaces a worker whenever it ends. */
  async #keep(first: WorkerProcess): Promise<void> {
    let worker = first;
    const pause = new RestartPause();
    for (;;) {
      const ended = await worker.ended;
      this.#workers.delete(worker);
      this.#chooseChecker();
      await this.#services.remove(worker);
      if (this.#isClosing()) return;
      const pauseMs = pause.next();
      this.#logEnd(worker, ended, pauseMs);
      await delay(pauseMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      if (this.#isClosing()) return;
      pause.begin();
      const { worker: next, result } = await this.#startWorker(worker.number);
      worker = next;
      if ('addresses' in result) this.#log.info('a worker serves clients again', { worker: worker.number });
      else {
        this.#log.error(`a worker cannot start: ${result.fault}`, { worker: worker.number });
        worker.kill();
      }
    }
  }

  readonly #isClosing = () => this.#closing.signal.aborted;

  #logEnd({ number: worker, pid }: WorkerProcess, { code, signal }: Ended, pauseMs: number): void {
    const reason = wordOf(code, signal);
    this.#log.error('a worker has ended: another process replaces it', { worker, pid, reason, afterMs: pauseMs });
  }

  #chooseChecker(): void {
    if (this.#checker?.isServing === true) return;
    this.#checker = [...this.#workers].find(({ isServing }) => isServing);
    this.#checker?.channel.tell('checkHealth', null);
  }

  #pingAll(): void {
    for (const worker of this.#serving()) {
      if (worker.ping() < MAX_UNANSWERED) continue;
      this.#log.error('a worker does not respond', { worker: worker.number, pid: worker.pid });
      worker.kill();
    }
  }

  #serving(): readonly WorkerProcess[] {
    return [...this.#workers].filter(({ isServing }) => isServing);
  }

  /**
   * Prepares a configuration in all workers.
   * @returns a function that makes all of them use it.
   * @throws {ConfigError} or TlsFilesError: this process or a worker has found a fault. Then no worker uses `next`.
   */
  async #prepare(next: ConfigWithTexts): Promise<() => Promise<void>> {
    checkReplacement(next.config, this.#loaded.config);
    const { texts } = next;
    const workers = this.#serving();
    // A worker that ends meanwhile has no faults. The process that replaces it gets the present configuration.
    const faults = await Promise.all(
      workers.map(({ channel }) => channel.call('prepare', { texts }).catch((): readonly string[] => [])),
    );
    const all = [...new Set(faults.flat())];
    if (all.length > 0) {
      for (const { channel } of workers) channel.tell('abort', null);
      throw new ConfigError(all, next.config.warnings, next.config.watchedFiles);
    }
    return async () => {
      this.#configuration += 1;
      this.#loaded = next;
      const late = this.#serving().filter((worker) => !workers.includes(worker));
      await Promise.all([
        ...workers.map((worker) => {
          worker.configuration = this.#configuration;
          return worker.ask('commit', null);
        }),
        // These workers began to serve after the preparation.
        ...late.map((worker) => this.#catchUpOrEnd(worker)),
      ]);
    };
  }
}
