/** Remembers which deployments fail their checks in the background. */

/** A failed check. */
export interface FailedCheck {
  /** When the result no longer counts, as `hostTimeMs` returns it. */
  readonly until: number;
  /** Whether requests prefer other deployments until then. */
  readonly steersRouting: boolean;
  /** Whether the failed check proves that requests fail too, as in `CheckResult`. */
  readonly provesFailure: boolean;
}

/** The failed checks of all deployments, by deployment id. */
export interface FailedChecks {
  /** Stores that a check has failed. */
  add(id: string, failed: FailedCheck): void;
  /**
   * Removes a failed check: a later check or a request has succeeded, a check sent no request, or the deployment has
   * no checks any more.
   */
  remove(id: string): void;
  /** Returns whether a stored check, which has not expired, proves that requests fail. */
  isDown(id: string): boolean;
  /** Returns whether requests prefer other deployments because of a failed check that has not expired. */
  isAvoided(id: string): boolean;
  /** Whether no failed check is stored. An expired check stays stored. */
  readonly isEmpty: boolean;
}

/** Creates the state without failed checks. @param now as `hostTimeMs`. */
export function createFailedChecks(now: () => number): FailedChecks {
  const failed = new Map<string, FailedCheck>();
  const counts = (id: string, member: 'steersRouting' | 'provesFailure') => {
    const check = failed.get(id);
    return check?.[member] === true && check.until > now();
  };
  return {
    add: (id, check) => void failed.set(id, check),
    remove: (id) => void failed.delete(id),
    isDown: (id) => counts(id, 'provesFailure'),
    isAvoided: (id) => counts(id, 'steersRouting'),
    get isEmpty() {
      return failed.size === 0;
    },
  };
}
