/** Failures of requests to a cloud. */

/** Kinds of failures. */
type CloudFailureKind =
  /** No connection was made, so the service has not seen the request. */
  | 'unreachable'
  /** The connection ended, or the answer is not usable. The service may have executed the request. */
  | 'interrupted'
  /** No complete answer within the deadline, or too many requests wait. */
  | 'timeout'
  /** The driver is closing. */
  | 'closed';

/** A request without a usable answer. The message names the service and contains no secret. */
export class CloudFailure extends Error {
  override readonly name = 'CloudFailure';
  readonly kind: CloudFailureKind;
  /** The pause that the service requests, for example in Retry-After; undefined: none. */
  readonly pauseMs: number | undefined;

  constructor(
    kind: CloudFailureKind,
    message: string,
    { pauseMs, ...options }: { readonly cause?: unknown; readonly pauseMs?: number | undefined } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.pauseMs = pauseMs;
  }
}

/**
 * Keystone rejected the credentials. The session then requests no token for some time, because
 * Keystone could lock the account.
 */
export class RejectedCredentials extends Error {
  override readonly name = 'RejectedCredentials';
}
