/** The calls between the first process of a group and its workers. */
import type { Flags } from '../config/load.js';
import type { MetricsSnapshot } from '../metrics-snapshot.js';
import type { SiblingEvent } from '../routing/siblings.js';
import type { UsageBatch } from '../store/store.js';
import type { UsageRow } from '../store/usage.js';
import type {
  BatchAnswer,
  ChangedKeys,
  ChangedSpends,
  OwnerState,
  ProposedChange,
} from '../store/worker/owner-link.js';

/** The texts of the files of a configuration, by their absolute paths. */
export type FileTexts = readonly (readonly [path: string, text: string])[];

/** Values that a worker needs to start. */
export interface WorkerStart {
  /** The worker's number in the group, from 1. Logs show it. */
  readonly number: number;
  /** Number of workers in the group. */
  readonly count: number;
  /** Path of the configuration file; null: none was given. */
  readonly file: string | null;
  /** The flags of the command line. */
  readonly flags: Flags;
  readonly texts: FileTexts;
  /** null: the group has no store in files. */
  readonly store: OwnerState | null;
  /** Events that workers published earlier, and that still apply. */
  readonly events: readonly SiblingEvent[];
}

/** The result of a start. */
export type StartResult =
  | { readonly addresses: readonly string[] }
  /** The message for the operator has a line for each fault. */
  | { readonly fault: string; readonly exitCode: number };

interface Call<Params, Result> {
  readonly params: Params;
  readonly result: Result;
}

/** Calls to a worker. */
export interface WorkerCalls {
  readonly start: Call<WorkerStart, StartResult>;
  /** Loads a configuration, and stores it for `commit`. @returns the faults; empty: there are none. */
  readonly prepare: Call<{ readonly texts: FileTexts }, readonly string[]>;
  /** Uses the prepared configuration. */
  readonly commit: Call<null, null>;
  /** Forgets the prepared configuration. */
  readonly abort: Call<null, null>;
  readonly keysChanged: Call<{ readonly keys: ChangedKeys; readonly spends: ChangedSpends }, null>;
  readonly spendsChanged: Call<ChangedSpends, null>;
  /** Sends the usage that the first process does not have yet. */
  readonly sendUsage: Call<null, null>;
  readonly event: Call<SiblingEvent, null>;
  readonly snapshot: Call<null, MetricsSnapshot | null>;
  /** Checks deployments in the background from now on. */
  readonly checkHealth: Call<null, null>;
  /** Does nothing. The answer shows that the event loop runs. */
  readonly ping: Call<null, null>;
  /** Completes running requests, and closes the proxy. The worker ends when the first process then disconnects. */
  readonly stop: Call<null, null>;
}

/** Calls to the first process. */
export interface GroupCalls {
  /** Reports that the worker can receive messages. Node drops messages that were sent to it earlier. */
  readonly hello: Call<null, null>;
  readonly limits: Call<readonly string[], readonly number[]>;
  readonly changeKeys: Call<ProposedChange, boolean>;
  readonly setSpend: Call<{ readonly digest: string; readonly spend: number }, null>;
  readonly addBatch: Call<UsageBatch, BatchAnswer>;
  readonly usageDays: Call<{ readonly from: string; readonly to: string }, readonly string[]>;
  readonly usageOf: Call<{ readonly day: string }, readonly UsageRow[]>;
  readonly publish: Call<SiblingEvent, null>;
  /** Returns the metrics of the other workers, and of ended ones. The parameter is the metrics of the caller. */
  readonly snapshots: Call<MetricsSnapshot, readonly MetricsSnapshot[]>;
}
