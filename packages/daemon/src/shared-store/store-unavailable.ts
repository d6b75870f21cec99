/** The shared store does not answer, or rejects the request. Clients get 503 with Retry-After. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
}

/**
 * The shared store answers, but this replica cannot make the change now. The message is for
 * clients.
 */
export class ChangeRefused extends StoreUnavailable {
  override readonly name = 'ChangeRefused';
}

/** Returns the answer of Redis to a command that it rejected, or the reason why there is none. */
export function rejectionOf(error: unknown): string {
  return error instanceof StoreUnavailable && error.cause instanceof Error ? error.cause.message : String(error);
}
