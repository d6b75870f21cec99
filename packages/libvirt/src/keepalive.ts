import type { Clock, Timer } from './clock.js';

/**
 * Options for the detection of a dead peer. The defaults are those of libvirt. They detect a dead
 * peer 30 to 35 s after its last byte: an interval without bytes, then five PINGs.
 */
export interface KeepaliveOptions {
  /** Milliseconds between checks. A PING follows each interval without a received byte. Default: 5,000. */
  readonly intervalMs: number;
  /** Maximum number of successive PINGs without an answer. Default: 5. */
  readonly count: number;
}

/**
 * Sends PINGs to a silent peer. Every received byte counts as an answer, because under load a PONG
 * comes after many replies.
 */
export class Keepalive {
  #received = true;
  /** PINGs sent since the last received byte. */
  #unanswered = 0;
  #timer: Timer | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly options: KeepaliveOptions,
    private readonly sendPing: () => void,
    private readonly onDead: (silentMs: number) => void,
  ) {}

  /** Records that bytes arrived. */
  onReceive(): void {
    this.#received = true;
  }

  /** Starts or restarts the timer. */
  start(): void {
    this.stop();
    // The socket keeps the process alive, so the timer need not.
    this.#timer = this.clock.after(this.options.intervalMs, () => this.#tick(), { background: true });
  }

  /** Stops the timer. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #tick(): void {
    const { count, intervalMs } = this.options;
    if (this.#received) {
      this.#unanswered = 0;
      this.#received = false;
    } else if (this.#unanswered === count) {
      this.onDead((count + 1) * intervalMs);
      return;
    } else {
      this.#unanswered += 1;
      this.sendPing();
    }
    this.start();
  }
}
