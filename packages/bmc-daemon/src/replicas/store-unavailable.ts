/** The shared store does not answer, or rejects the request. Clients get 503 with Retry-After. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
