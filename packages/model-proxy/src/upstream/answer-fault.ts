/** What can be wrong with an answer as HTTP/1.1. */

export type AnswerFaultKind =
  /** It is no HTTP/1.1, or not to be understood in one way only. */
  | 'http'
  /** Its head is longer than anybody needs. */
  | 'head'
  /** It is not as long as it says. */
  | 'length'
  /** The connection ended in the middle of it, or before it. */
  | 'closed';

/** An answer that can not be read to its end. */
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
