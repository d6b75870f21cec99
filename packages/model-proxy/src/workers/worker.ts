/**
 * The program of a worker, which `worker-entry.ts` loads. It serves clients like a proxy without workers. The first
 * process of the group watches the files, handles signals, and owns the store in files. To Redis, each worker connects
 * itself.
 */
import { createLog, outputFormat, type Log } from '@rackless/daemon/log/log.js';
import { CommandOutput } from '@rackless/daemon/process/command-output.js';
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { exitOnUnexpectedErrors } from '@rackless/daemon/process/signals.js';
import { exitCodeOfStart } from '@rackless/daemon/process/start-failure.js';
import { ConfigError, loadConfigInBackground, type LoadedConfig } from '../config/load.js';
import type { MetricsSnapshot } from '../metrics-snapshot.js';
import { startProxy, StartError, type Proxy } from '../proxy.js';
import type { SiblingEvent, Siblings } from '../routing/siblings.js';
import { WorkerStore } from '../store/worker/worker-store.js';
import type { FileTexts, GroupCalls, StartResult, WorkerCalls, WorkerStart } from './calls.js';
import { Channel, type Answers } from './channel.js';
import { ownerLink } from './owner-calls.js';

class Worker {
  /** Whether the first process has asked this worker to stop. */
  isAskedToStop = false;
  readonly #channel: Channel<GroupCalls, WorkerCalls>;
  readonly #listeners: ((event: SiblingEvent) => void)[] = [];
  /** Events that arrived before the proxy had started. */
  #early: SiblingEvent[] = [];
  #options: WorkerStart | undefined;
  #store: WorkerStore | undefined;
  #log: Log | undefined;
  #proxy: Proxy | undefined;
  /** Uses the configuration that this worker has prepared. */
  #prepared: (() => void) | undefined;
  #takeSnapshot: (() => Promise<MetricsSnapshot>) | undefined;

  constructor() {
    this.#channel = new Channel<GroupCalls, WorkerCalls>(
      {
        send: (message, done) => process.send?.(message, undefined, undefined, done),
        onMessage: (listener) => process.on('message', listener),
      },
      this.#answers(),
    );
    this.#channel.tell('hello', null);
  }

  #answers(): Answers<WorkerCalls> {
    return {
      start: (options) => this.#start(options),
      prepare: ({ texts }) => this.#prepare(texts),
      commit: () => {
        this.#prepared?.();
        return this.#forget();
      },
      abort: () => this.#forget(),
      keysChanged: ({ keys, spends }) => {
        this.#store?.applyKeys(keys, spends);
        return null;
      },
      spendsChanged: (spends) => {
        this.#store?.applySpends(spends);
        return null;
      },
      sendUsage: async () => {
        await this.#store?.flush();
        return null;
      },
      event: (event) => {
        if (this.#proxy === undefined) this.#early.push(event);
        else this.#learn(event);
        return null;
      },
      snapshot: async () => (await this.#takeSnapshot?.()) ?? null,
      checkHealth: () => {
        this.#proxy?.startHealthChecks();
        return null;
      },
      ping: () => null,
      stop: async () => {
        this.isAskedToStop = true;
        await this.#proxy?.close();
        this.#log?.flush();
        return null;
      },
    };
  }

  readonly #siblings: Siblings = {
    partOf: (limit) => {
      const { number, count } = this.#options ?? { number: 1, count: 1 };
      return Math.max(1, Math.floor(limit / count) + (number <= limit % count ? 1 : 0));
    },
    publish: (event) => this.#channel.tell('publish', event),
    onEvent: (listener) => void this.#listeners.push(listener),
    snapshots: async () => {
      const own = await this.#takeSnapshot?.();
      return own === undefined ? [] : this.#channel.call('snapshots', own);
    },
    setSnapshotSource: (take) => (this.#takeSnapshot = take),
  };

  #learn(event: SiblingEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #forget(): null {
    this.#prepared = undefined;
    return null;
  }

  async #start(options: WorkerStart): Promise<StartResult> {
    this.#options = options;
    const { number, texts, store: state } = options;
    const logOnceCreated: Pick<Log, 'info' | 'error'> = {
      info: (message) => this.#log?.info(message),
      error: (message) => this.#log?.error(message),
    };
    // Creates the store before the log, because changes of the keys can arrive from now on.
    if (state !== null) this.#store = new WorkerStore(ownerLink(this.#channel), state, logOnceCreated);
    try {
      const config = await this.#load(texts);
      const { logLevel: level, jsonLogs } = config.listen;
      const format = jsonLogs === null ? outputFormat() : jsonLogs ? 'json' : 'text';
      const log = createLog({ level, format, worker: number });
      this.#log = log;
      exitOnUnexpectedErrors(log);
      const group = { siblings: this.#siblings, store: this.#store };
      // The first process reloads with `prepare` and `commit`.
      const proxy = await startProxy({ config, load: () => this.#load(texts), log, group });
      this.#proxy = proxy;
      for (const event of [...options.events, ...this.#early.splice(0)]) this.#learn(event);
      return { addresses: proxy.addresses };
    } catch (error) {
      this.#log?.flush();
      if (error instanceof ConfigError) return { fault: error.faults.join('\n'), exitCode: exitCode.configuration };
      if (error instanceof StartError) return { fault: error.message, exitCode: exitCodeOfStart(error) };
      throw error;
    }
  }

  async #prepare(texts: FileTexts): Promise<readonly string[]> {
    if (this.#proxy === undefined) return ['a worker has not started yet'];
    try {
      this.#prepared = await this.#proxy.prepare(await this.#load(texts));
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.faults;
      return [error instanceof Error ? error.message : String(error)];
    }
  }

  /** Loads a configuration from the texts that the first process has read. */
  #load(texts: FileTexts): Promise<LoadedConfig> {
    const byPath = new Map(texts);
    const { file, flags } = this.#options ?? { file: null, flags: {} };
    const readText = (path: string): string => {
      const text = byPath.get(path);
      if (text === undefined) throw new Error('there is no such file');
      return text;
    };
    return loadConfigInBackground({ file: file ?? undefined, flags, environment: process.env, readText });
  }
}

// A worker must not end with a stack trace because the disk of the log is full.
new CommandOutput('model-proxy').becomeLog();
const worker = new Worker();
// The connection ends when the first process has stopped this worker, or has ended itself. In the second case, no other
// process would stop this worker, and no new connection would reach it. So the worker exits in both cases.
process.on('disconnect', () => process.exit(worker.isAskedToStop ? exitCode.done : exitCode.failed));
