/** Faults of upstreams' answers against HTTP/1.1. */

/** The kind of a fault. */
type AnswerFaultKind =
  /** The answer is not HTTP/1.1, or is ambiguous. */
  | 'http'
  /** The head is too large. */
  | 'head'
  /** The body is shorter than its Content-Length. */
  | 'length'
  /** The connection ended before the answer, or in the middle of it. */
  | 'closed';

/** An answer that cannot be read to its end. */
export class AnswerFault extends Error {
  override readonly name = 'AnswerFault';

  constructor(
    readonly kind: AnswerFaultKind,
    message: string,
    cause?: Error,
  ) {
    super(message, { cause });
  }
}
