/** The console of one machine while somebody wants it: opened, lost, and opened again. */
import type { Duplex } from 'node:stream';
import { DriverError } from '../drivers/driver.js';
import type { MachineChangeKind } from '../drivers/machine-change.js';
import type { ConsoleListener, ConsoleState } from './console-hub.js';

export interface ConsoleLineOptions {
  /** Connects; rejects with a DriverError. */
  readonly open: (signal: AbortSignal) => Promise<Duplex>;
  readonly retryMs: number;
  /** What nobody has a word for went wrong, once until it goes well again. */
  readonly warn: (error: unknown) => void;
}

interface Condition {
  readonly state: ConsoleState;
  readonly why: string;
}

/** A console that ends is looked at again after so long: by then libvirt knows whether its machine has ended with it. */
const REST_MS = 100;
const MOST_RETRIES = 5;

export class ConsoleLine {
  readonly #options: ConsoleLineOptions;
  readonly #listeners = new Set<ConsoleListener>();
  /** Undefined before the first attempt has ended. */
  #condition: Condition | undefined;
  #stream: Duplex | undefined;
  #opening: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retries = 0;
  /** Who type, and wait until it is taken. A stream that ends does not call for what it was just taking. */
  readonly #waiting = new Set<{ readonly taken: () => void }>();
  /** The machine was started while it could not be followed at once. */
  #startedMeanwhile = false;
  #warned = false;
  #closed = false;

  constructor(options: ConsoleLineOptions) {
    this.#options = options;
    void this.#attempt();
  }

  join(listener: ConsoleListener): void {
    this.#listeners.add(listener);
    const condition = this.#condition;
    if (condition === undefined) return;
    // Not before whoever attaches has got what it attached.
    queueMicrotask(() => {
      if (this.#listeners.has(listener) && this.#condition === condition)
        listener.state(condition.state, condition.why);
    });
  }

  /** @returns whether it was the last one. */
  leave(listener: ConsoleListener): boolean {
    return this.#listeners.delete(listener) && this.#listeners.size === 0;
  }

  write(bytes: Buffer, taken?: () => void): void {
    if (this.#stream === undefined) {
      taken?.();
      return;
    }
    if (taken === undefined) {
      this.#stream.write(bytes);
      return;
    }
    const waiting = { taken };
    this.#waiting.add(waiting);
    this.#stream.write(bytes, () => {
      if (this.#waiting.delete(waiting)) taken();
    });
  }

  /** What has happened to the machine. */
  follow(kind: MachineChangeKind): void {
    switch (kind) {
      case 'started':
        this.#retries = 0;
        // The stream of the process before this one may not have ended yet.
        if (this.#stream !== undefined || this.#opening !== undefined) this.#startedMeanwhile = true;
        else void this.#attempt();
        return;
      case 'stopped':
      case 'undefined':
        this.#startedMeanwhile = false;
        // What the guest said last is still to be read from a stream; an attempt finds out by itself.
        if (this.#stream !== undefined || this.#opening !== undefined) return;
        clearTimeout(this.#timer);
        this.#tell(kind === 'stopped' ? off : gone);
        return;
      default:
        return;
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#opening?.abort();
    this.#listeners.clear();
    this.#stream?.destroy();
  }

  async #attempt(): Promise<void> {
    clearTimeout(this.#timer);
    const opening = new AbortController();
    this.#opening = opening;
    let stream: Duplex | undefined;
    let condition: Condition = open;
    let retry = false;
    try {
      stream = await this.#options.open(opening.signal);
      this.#warned = false;
    } catch (error) {
      [condition, retry] = conditionOf(error);
      // A machine that is being switched off has lost its port before libvirt says that it is off: the next attempt knows.
      if (condition === failed && this.#retries === 0 && this.#condition !== undefined) condition = this.#condition;
      else if (condition === failed) this.#warn(error);
    }
    this.#opening = undefined;
    if (this.#closed) {
      stream?.on('error', () => undefined).destroy();
      return;
    }
    if (stream !== undefined) {
      this.#retries = 0;
      this.#startedMeanwhile = false;
      // Told each time, and before the first byte: what comes now is of another run of the machine.
      this.#condition = undefined;
    }
    this.#tell(condition);
    if (stream !== undefined) {
      this.#follow(stream);
      return;
    }
    if (this.#startedMeanwhile) {
      this.#startedMeanwhile = false;
      void this.#attempt();
      return;
    }
    if (!retry) return;
    this.#retries = Math.min(MOST_RETRIES, this.#retries + 1);
    this.#attemptIn(this.#retries * this.#options.retryMs);
  }

  #attemptIn(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#attempt(), milliseconds).unref();
  }

  #follow(stream: Duplex): void {
    this.#stream = stream;
    stream.on('data', (bytes: Buffer) => {
      for (const listener of this.#listeners) listener.data(bytes);
    });
    // Its reason is for nobody: the next attempt finds out what has become of the machine.
    stream.on('error', () => undefined);
    stream.once('end', () => stream.destroy());
    stream.once('close', () => {
      this.#stream = undefined;
      const waiting = [...this.#waiting];
      this.#waiting.clear();
      for (const { taken } of waiting) taken();
      if (this.#closed) return;
      if (this.#startedMeanwhile) {
        this.#startedMeanwhile = false;
        void this.#attempt();
      } else this.#attemptIn(REST_MS);
    });
  }

  #tell(condition: Condition): void {
    if (this.#condition?.state === condition.state && this.#condition.why === condition.why) return;
    this.#condition = condition;
    for (const listener of this.#listeners) listener.state(condition.state, condition.why);
  }

  #warn(error: unknown): void {
    if (!this.#warned) this.#options.warn(error);
    this.#warned = true;
  }
}

const open: Condition = { state: 'open', why: 'connected' };
const off: Condition = { state: 'closed', why: 'the machine is off' };
const gone: Condition = { state: 'absent', why: 'there is no such machine' };
const failed: Condition = { state: 'closed', why: 'its console can not be opened' };

/** What a failed attempt says of the console, and whether another one may say something else though nothing has happened. */
function conditionOf(error: unknown): readonly [Condition, boolean] {
  switch (error instanceof DriverError ? error.kind : undefined) {
    case 'conflict':
      return [off, false];
    case 'notFound':
      return [gone, false];
    case 'unsupported':
      return [{ state: 'absent', why: 'it has no serial port that one can connect to' }, false];
    case 'consoleInUse':
      return [{ state: 'taken', why: 'somebody else is connected to it, who is waited for' }, true];
    case 'unavailable':
      return [{ state: 'closed', why: 'its hypervisor does not answer' }, true];
    default:
      return [failed, true];
  }
}
