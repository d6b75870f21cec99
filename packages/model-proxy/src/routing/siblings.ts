/** The other workers of a group, as the app sees them. */
import type { MetricsSnapshot } from '../metrics-snapshot.js';
import type { CheckRecord } from './check-record.js';
import type { FailedCheck } from './failed-checks.js';

/**
 * Something that all workers must know. `until` is a time of `hostTimeMs`.
 * - `cooled`: a deployment cools down until a time. `recovered`: it works again.
 * - `tried`: a request tests a deployment after its cooldown. The test ends at `until` at the latest.
 * - `checked`: a check in the background has ended.
 * - `uncounted`: a stored response has no usage yet. `counted`: a worker has counted its usage. Here, `id` is that of
 *   the response; elsewhere that of the deployment.
 */
export type SiblingEvent =
  | { readonly kind: 'cooled'; readonly id: string; readonly until: number }
  | { readonly kind: 'tried'; readonly id: string; readonly until: number }
  | { readonly kind: 'recovered'; readonly id: string }
  | { readonly kind: 'uncounted'; readonly id: string }
  | { readonly kind: 'counted'; readonly id: string }
  | {
      readonly kind: 'checked';
      readonly id: string;
      readonly check: CheckRecord;
      /** null: the check succeeded or sent no request; absent: it does not count, and earlier failures stay. */
      readonly failed?: FailedCheck | null | undefined;
    };

/** Returns a part of a limit. */
export type LimitPart = (limit: number) => number;

/** Returns the whole limit, for a process without other workers. */
export const wholeLimit: LimitPart = (limit) => limit;

/** The other workers. */
export interface Siblings {
  /**
   * Returns the part of a limit that this worker may use. All parts together are the limit, or more if
   * the limit is smaller than the number of workers, because no part is 0.
   */
  readonly partOf: LimitPart;
  /** Sends an event to all other workers. Workers that start later get the events that still apply. */
  publish(event: SiblingEvent): void;
  /** Calls the listener for each event of another worker. The listener must not throw. */
  onEvent(listener: (event: SiblingEvent) => void): void;
  /** Returns the metrics of the other workers, also what ended workers have counted. */
  snapshots(): Promise<readonly MetricsSnapshot[]>;
  /** Sets the function that returns the metrics of this worker. */
  setSnapshotSource(take: () => Promise<MetricsSnapshot>): void;
}
