/** Results of health checks. */

/** The result of a health check. */
export interface CheckResult {
  /** The fault, or why no request could be sent; without secrets. null: the deployment works. */
  readonly error: string | null;
  /** Status of the error, as clients would get it; null: healthy, or the model cannot be checked. */
  readonly status: number | null;
  /** Whether a request was sent. false: the model cannot be checked, or a setting is wrong. */
  readonly isChecked: boolean;
  /** Whether requests to the model would fail, too. An upstream may serve its models but not their list. */
  readonly provesFailure: boolean;
}

/** The result of a check in the background. */
export interface CheckRecord extends CheckResult {
  /** Time of the check, in milliseconds since 1970. */
  readonly checkedAt: number;
  readonly durationMs: number;
}
