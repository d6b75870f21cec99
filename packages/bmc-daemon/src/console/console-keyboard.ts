/**
 * Decides which client of a console may type. One client at a time has the keyboard. If the keyboard
 * is free, a client takes it when it types. Otherwise the client must request it from the holder.
 */

/** The keyboard of a console, as one client sees it. */
export interface KeyboardStatus {
  /** Name of the client that may type; null: the keyboard is free. */
  readonly holder: string | null;
  readonly isYours: boolean;
  /** Name of the client that has requested the keyboard from the holder; null: none. */
  readonly asker: string | null;
}

/** A client that can type. */
export interface KeyboardClient {
  /** For other clients, such as `olga at 192.0.2.7`. */
  readonly name: string;
  /** Called after each change of the keyboard, and after the client joins a keyboard with a holder. Must not throw. */
  keyboard(status: KeyboardStatus): void;
}

/**
 * Returns the name of a client for other clients: `olga at 192.0.2.7`; only the address without an account.
 * @param account null if the client has no account.
 */
export function clientName(account: string | null, address = 'an unknown address'): string {
  return account === null ? address : `${account} at ${address}`;
}

/** The times of {@link Keyboard}, in milliseconds. */
export interface KeyboardTimes {
  /** The keyboard becomes free when its holder types nothing for this time. */
  readonly idleMs: number;
  /** The asker gets the keyboard after this time, if the holder does not hand it over before. */
  readonly handOverMs: number;
}

/** The default times. */
export const keyboardTimes: KeyboardTimes = { idleMs: 60_000, handOverMs: 10_000 };

/**
 * Answers of a terminal to questions of the guest (ECMA-48 CPR, DA, DSR; xterm's OSC and DCS
 * answers).
 */
// oxlint-disable-next-line no-control-regex -- they begin with a control character
const TERMINAL_REPORTS = /^(?:\x1b(?:\[[?>]?[\d;]*(?:[Rcnt]|\$y)|[\]P][^\x07\x1b]*(?:\x07|\x1b\\)))+$/;

/**
 * Returns whether input contains only reports of a terminal. The terminal of each viewer sends them
 * without its user, so they do not show that a user types.
 */
export function isTerminalReport(bytes: Buffer): boolean {
  return bytes[0] === 0x1b && TERMINAL_REPORTS.test(bytes.toString('latin1'));
}

/** The keyboard of one console. */
export class Keyboard {
  readonly #times: KeyboardTimes;
  readonly #clients = new Set<KeyboardClient>();
  #holder: KeyboardClient | undefined;
  #asker: KeyboardClient | undefined;
  #idle: NodeJS.Timeout | undefined;
  #handOver: NodeJS.Timeout | undefined;

  constructor(times: KeyboardTimes) {
    this.#times = times;
  }

  /** Adds a client, and reports the keyboard to it if another client has it. */
  join(client: KeyboardClient): void {
    this.#clients.add(client);
    if (this.#holder === undefined) return;
    // Reports the keyboard later, because the caller does not have its attachment yet.
    queueMicrotask(() => this.#report(client));
  }

  /** Removes a client. Its keyboard goes to the asker, or becomes free. */
  leave(client: KeyboardClient): void {
    this.#clients.delete(client);
    if (client === this.#asker) this.#setAsker(undefined);
    this.release(client);
  }

  /** Returns whether a client has the keyboard. */
  isHeldBy(client: KeyboardClient): boolean {
    return this.#holder === client;
  }

  /**
   * Takes the keyboard if it is free.
   * @returns whether the client may type now.
   */
  claim(client: KeyboardClient): boolean {
    if (this.#holder === undefined) this.#setHolder(client);
    else if (this.#holder === client) this.#idle?.refresh();
    return this.#holder === client;
  }

  /**
   * Takes the keyboard if it is free. Otherwise requests it: the client gets the keyboard when the
   * holder hands it over, or after {@link KeyboardTimes.handOverMs}. Does nothing if another client
   * has already requested it.
   */
  take(client: KeyboardClient): void {
    if (this.claim(client) || this.#asker !== undefined) return;
    this.#setAsker(client);
  }

  /**
   * Hands the keyboard over to the asker; without an asker, the keyboard becomes free. Does nothing if the client
   * does not have the keyboard.
   */
  release(client: KeyboardClient): void {
    if (this.#holder === client) this.#setHolder(this.#asker);
  }

  /** Ends all timers and removes all clients without a report to them. */
  close(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#handOver);
    this.#clients.clear();
  }

  #setAsker(asker: KeyboardClient | undefined): void {
    clearTimeout(this.#handOver);
    this.#asker = asker;
    if (asker !== undefined) {
      this.#handOver = setTimeout(() => this.#setHolder(asker), this.#times.handOverMs).unref();
    }
    for (const client of this.#clients) this.#report(client);
  }

  #setHolder(holder: KeyboardClient | undefined): void {
    clearTimeout(this.#idle);
    this.#holder = holder;
    if (holder !== undefined) this.#idle = setTimeout(() => this.release(holder), this.#times.idleMs).unref();
    this.#setAsker(undefined);
  }

  #report(client: KeyboardClient): void {
    const { name: holder = null } = this.#holder ?? {};
    const { name: asker = null } = this.#asker ?? {};
    if (this.#clients.has(client)) client.keyboard({ holder, asker, isYours: this.#holder === client });
  }
}
