/** Decides how long a console waits before it is opened again. All times are in milliseconds. */

/**
 * The pause between the end of a usable stream and the next attempt. After this time, libvirt reports
 * whether the machine has stopped.
 */
const REST_MS = 100;
/** The pauses grow to this multiple of `retryMs`. */
const MAX_FACTOR = 5;
/**
 * A stream that ends within this time without a byte was of no use: the proxy of the console accepted
 * the connection, but did not reach the machine.
 */
const USELESS_MS = 10_000;

/** Counts failed attempts and useless streams. */
export class ConsolePace {
  readonly #retryMs: number;
  #failures = 0;
  #useless = 0;
  #openedAt = 0;
  #hasOutput = false;

  /** @param retryMs the pause after the first failure; it grows to five times this value. */
  constructor(retryMs: number) {
    this.#retryMs = retryMs;
  }

  /** Whether no attempt has failed since the console last opened, or since the last {@link reset}. */
  get isFirst(): boolean {
    return this.#failures === 0;
  }

  /** Whether the last two streams since the last {@link reset} were of no use. */
  get isUnusable(): boolean {
    return this.#useless > 1;
  }

  /** The pause between the end of a stream and the next attempt. */
  get restMs(): number {
    return this.isUnusable ? Math.min(MAX_FACTOR, this.#useless - 1) * this.#retryMs : REST_MS;
  }

  /** Call this when the machine starts, is reset or moves to another host. */
  reset(): void {
    this.#failures = 0;
    this.#useless = 0;
  }

  /** Call this when an attempt has failed. @returns the pause before the next attempt. */
  onFailed(): number {
    this.#failures = Math.min(MAX_FACTOR, this.#failures + 1);
    return this.#failures * this.#retryMs;
  }

  /** Call this when a stream is open. */
  onOpened(): void {
    this.#failures = 0;
    this.#openedAt = performance.now();
    this.#hasOutput = false;
  }

  /** Call this when output arrives. */
  onOutput(): void {
    this.#hasOutput = true;
  }

  /** Call this when the stream ends. */
  onEnded(): void {
    const isUseless = !this.#hasOutput && performance.now() - this.#openedAt < USELESS_MS;
    this.#useless = isUseless ? this.#useless + 1 : 0;
  }
}
