import type { Clock, Timer } from './clock.js';

/** How a dead peer is found out. */
export interface KeepaliveOptions {
  /** Milliseconds of silence before a PING, and between PINGs. Default 5,000, libvirt's own. */
  readonly intervalMs: number;
  /** How many PINGs in a row may stay unanswered. Default 5, libvirt's own: 30 s until a dead peer is noticed. */
  readonly count: number;
}

/**
 * Asks a silent peer whether it is still there. Any byte from it is an answer: under load a PONG waits behind the replies.
 */
export class Keepalive {
  #heard = true;
  /** PINGs sent since the peer was last heard. */
  #unanswered = 0;
  #timer: Timer | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly options: KeepaliveOptions,
    private readonly ping: () => void,
    private readonly dead: (silentMs: number) => void,
  ) {}

  /** Bytes came in. */
  heard(): void {
    this.#heard = true;
  }

  /** Begins, or begins anew after `stop`. */
  start(): void {
    this.stop();
    // The socket is what keeps the process alive, not the wish to know whether the peer is.
    this.#timer = this.clock.after(this.options.intervalMs, () => this.#tick(), { background: true });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #tick(): void {
    const { count, intervalMs } = this.options;
    if (this.#heard) {
      this.#unanswered = 0;
      this.#heard = false;
    } else if (this.#unanswered === count) {
      this.dead((count + 1) * intervalMs);
      return;
    } else {
      this.#unanswered += 1;
      this.ping();
    }
    this.start();
  }
}
