/** Keeps the console of one machine open while it has listeners, across restarts of the machine. */
import type { Duplex } from 'node:stream';
import type { MachineChangeKind } from '../drivers/machine-change.js';
import { ConsolePace } from './console-attempts.js';
import {
  conditionOf,
  failed,
  gone,
  off,
  open,
  openAgain,
  unreachable,
  unusable,
  type Condition,
  type ConsoleState,
} from './console-condition.js';
import { SilenceWatch, type SilencePace } from './console-silence.js';

/** Receives a console's output and state. Neither method may throw. */
export interface ConsoleListener {
  /** Receives the guest's output. The buffer is shared: do not change it. */
  data(bytes: Buffer): void;
  /**
   * Called at the beginning and after each change. Each time the console opens, it is called with `open` before the
   * first byte. A second `open` without another state in between means a new stream: after a start of the machine, or
   * after the previous stream ended or was lost. If a check found the loss, `why` says which output may be missing.
   * @param why a text for people, such as `the machine is off`.
   */
  state(state: ConsoleState, why: string): void;
}

/** Options of {@link ConsoleLine}. */
interface ConsoleLineOptions {
  /** Connects; rejects with a DriverError. */
  readonly open: (signal: AbortSignal) => Promise<Duplex>;
  /** The pause before the first retry; it grows to five times this value. */
  readonly retryMs: number;
  /** Called for an unexpected error or an unreachable proxy, once until the console opens again. */
  readonly warn: (error: unknown) => void;
  readonly silence: SilencePace;
  /** False: a check is not possible, so the line replaces a suspect stream. */
  readonly isChecked: boolean;
  /** Runs the check of a silent stream after the checks of other machines. */
  readonly inTurn: (check: () => Promise<void>) => void;
  /** Called when a new stream replaces one that libvirt lost. */
  readonly onReplaced: () => void;
}

/** One machine's connection and its listeners. The constructor makes the first attempt. */
export class ConsoleLine {
  readonly #options: ConsoleLineOptions;
  readonly #listeners = new Set<ConsoleListener>();
  /** Undefined before the first attempt has ended. */
  #condition: Condition | undefined;
  #stream: Duplex | undefined;
  #opening: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #pace: ConsolePace;
  /** Writers that wait for the guest. A stream that ends may not call the callbacks of its writes. */
  readonly #waiting = new Set<{ readonly onAccepted: () => void }>();
  /** Whether the machine has started or moved while an old stream or attempt still existed. */
  #startedMeanwhile = false;
  #warned = false;
  #closed = false;
  readonly #silence: SilenceWatch;

  constructor(options: ConsoleLineOptions) {
    this.#options = options;
    this.#pace = new ConsolePace(options.retryMs);
    this.#silence = new SilenceWatch(options.silence, (isUrgent) => {
      if (!options.isChecked) this.#stream?.destroy();
      else if (isUrgent) void this.#check();
      else options.inTurn(() => this.#check());
    });
    void this.#attempt();
  }

  /** Adds a listener, and reports the current state to it. */
  join(listener: ConsoleListener): void {
    this.#listeners.add(listener);
    const condition = this.#condition;
    if (condition === undefined) return;
    // Reports the state later, because the caller does not have its attachment yet.
    queueMicrotask(() => {
      if (this.#listeners.has(listener) && this.#condition === condition)
        listener.state(condition.state, condition.why);
    });
  }

  /** Removes a listener. @returns whether it was the last listener. */
  leave(listener: ConsoleListener): boolean {
    return this.#listeners.delete(listener) && this.#listeners.size === 0;
  }

  /**
   * Writes input; drops it while the console is closed.
   * @param onAccepted called when the guest accepts more input, or the console closes; at once if it is closed.
   */
  write(bytes: Buffer, onAccepted?: () => void): void {
    if (this.#stream === undefined) {
      onAccepted?.();
      return;
    }
    this.#silence.onInput();
    if (onAccepted === undefined) {
      this.#stream.write(bytes);
      return;
    }
    const waiting = { onAccepted };
    this.#waiting.add(waiting);
    this.#stream.write(bytes, () => {
      if (this.#waiting.delete(waiting)) onAccepted();
    });
  }

  /**
   * Without a stream or an attempt: connects after a start, reset or move of the machine, and tells the listeners
   * that the machine was stopped or removed. Otherwise the end of the stream or of the attempt shows the new state.
   */
  onMachineChange(kind: MachineChangeKind): void {
    switch (kind) {
      case 'started':
      case 'rebooted':
      case 'moved':
        this.#pace.reset();
        this.#silence.onMachineChange();
        if (this.#stream === undefined && this.#opening === undefined) void this.#attempt();
        // The stream of the previous QEMU process or host may still be open. A reboot keeps its stream.
        else this.#startedMeanwhile ||= kind !== 'rebooted';
        return;
      case 'stopped':
      case 'undefined':
        this.#silence.onMachineChange();
        this.#startedMeanwhile = false;
        // An open stream may still hold the guest's last output. An attempt learns the state itself.
        if (this.#stream !== undefined || this.#opening !== undefined) return;
        clearTimeout(this.#timer);
        this.#tell(kind === 'stopped' ? off : gone);
        return;
      default:
        return;
    }
  }

  /** Closes the console without notifying listeners. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#silence.stop();
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
    } catch (error) {
      [condition, retry] = conditionOf(error);
      // A machine that stops loses its port before libvirt reports it as off. The first failure
      // changes nothing, because the next attempt gets the true reason.
      const isFailure = condition === failed || condition === unreachable;
      if (isFailure && this.#pace.isFirst && this.#condition !== undefined) condition = this.#condition;
      else if (isFailure) this.#warn(error);
    }
    this.#opening = undefined;
    if (this.#closed) {
      stream?.on('error', () => undefined).destroy();
      return;
    }
    if (stream !== undefined) {
      this.#use(stream, open);
      return;
    }
    this.#tell(condition);
    if (this.#startedMeanwhile) {
      this.#startedMeanwhile = false;
      void this.#attempt();
      return;
    }
    if (retry) this.#attemptIn(this.#pace.onFailed());
  }

  #attemptIn(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#attempt(), milliseconds).unref();
  }

  /**
   * Checks a silent stream: tries to open the console. libvirt rejects this while any stream uses the port, that of
   * the daemon or that of another program. If the console opens, libvirt has lost the daemon's stream.
   */
  async #check(): Promise<void> {
    const silent = this.#stream;
    if (silent === undefined || this.#opening !== undefined) return;
    if (!this.#silence.isDue) {
      this.#silence.resume();
      return;
    }
    const began = performance.now();
    const opening = new AbortController();
    this.#opening = opening;
    let stream: Duplex | undefined;
    let condition: Condition | undefined;
    try {
      stream = await this.#options.open(opening.signal);
    } catch (error) {
      [condition] = conditionOf(error);
    }
    this.#opening = undefined;
    if (this.#closed) stream?.on('error', () => undefined).destroy();
    else if (stream !== undefined) this.#replaceBy(stream);
    // The stream ended during the check, usually because the machine stopped.
    else if (this.#stream === undefined) this.#attemptAgain();
    else {
      this.#silence.onCheckPassed();
      // The machine is off, but libvirt has not ended its stream. So libvirt has lost the stream.
      if ((condition === off || condition === gone) && this.#silence.lastOutputAt < began) silent.destroy();
    }
  }

  /** Replaces the lost stream by the stream of a check, which may have read output of the port already. */
  #replaceBy(stream: Duplex): void {
    const lost = this.#stream;
    if (lost === undefined) {
      this.#use(stream, open);
      return;
    }
    this.#options.onReplaced();
    this.#stream = undefined;
    lost.destroy();
    this.#releaseWriters();
    this.#use(stream, openAgain(performance.now() - this.#silence.lastOutputAt));
  }

  #use(stream: Duplex, condition: Condition): void {
    this.#pace.onOpened();
    this.#warned = false;
    this.#startedMeanwhile = false;
    // Reports `open` for every run of the machine, before its first byte.
    this.#condition = undefined;
    this.#tell(condition);
    this.#stream = stream;
    this.#silence.start();
    stream.on('data', (bytes: Buffer) => {
      this.#silence.onOutput();
      this.#pace.onOutput();
      for (const listener of this.#listeners) listener.data(bytes);
    });
    // Ignores the error: the next attempt finds out what happened to the machine.
    stream.on('error', () => undefined);
    stream.once('end', () => stream.destroy());
    stream.once('close', () => {
      // Ignores the end of a stream that was already replaced.
      if (this.#stream !== stream) return;
      this.#stream = undefined;
      this.#pace.onEnded();
      this.#silence.stop();
      this.#releaseWriters();
      // A running check makes the next attempt when it ends.
      if (!this.#closed && this.#opening === undefined) this.#attemptAgain();
    });
  }

  #releaseWriters(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const { onAccepted } of waiting) onAccepted();
  }

  /** Connects after the end of a stream: at once if the machine has started again or moved, otherwise after a pause. */
  #attemptAgain(): void {
    if (this.#startedMeanwhile) {
      this.#startedMeanwhile = false;
      void this.#attempt();
      return;
    }
    if (this.#pace.isUnusable) this.#tell(unusable);
    this.#attemptIn(this.#pace.restMs);
  }

  #tell(condition: Condition): void {
    if (this.#condition?.state === condition.state && this.#condition.why === condition.why) return;
    this.#condition = condition;
    for (const listener of this.#listeners) listener.state(condition.state, condition.why);
  }

  #warn(error: unknown): void {
    // The error of an attempt that close() aborted means nothing.
    if (!this.#warned && !this.#closed) this.#options.warn(error);
    this.#warned = true;
  }
}
