/** Remembers which deployments fail their checks in the background. */

/** The failed checks of all deployments, by deployment id. */
export interface FailedChecks {
  /**
   * A check has failed.
   * @param until when the result no longer counts, in milliseconds.
   * @param steersRouting whether requests prefer other deployments until then.
   */
  add(id: string, until: number, steersRouting: boolean): void;
  /** A check or a request has succeeded, or earlier checks no longer count. */
  remove(id: string): void;
  /** Returns whether the last check failed, and no request has succeeded since. */
  has(id: string): boolean;
  /** Returns whether requests prefer other deployments because of a failed check. */
  isAvoided(id: string): boolean;
  /** Whether no check has failed. */
  readonly isEmpty: boolean;
}

/** Creates the state without failed checks. @param now returns the time in milliseconds. */
export function createFailedChecks(now: () => number): FailedChecks {
  const failed = new Map<string, { readonly until: number; readonly steersRouting: boolean }>();
  const has = (id: string) => (failed.get(id)?.until ?? 0) > now();
  return {
    add: (id, until, steersRouting) => void failed.set(id, { until, steersRouting }),
    remove: (id) => void failed.delete(id),
    has,
    isAvoided: (id) => failed.get(id)?.steersRouting === true && has(id),
    get isEmpty() {
      return failed.size === 0;
    },
  };
}
