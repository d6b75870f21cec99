/**
 * Limits how many machines are reconciled or read in the background at once. This work begins after the start, after
 * a new connection, and after a list with new machines. Parsing the XML of a machine costs about 2 ms of CPU time.
 * Without a limit, the answers of 20 hosts arrive together, and a request of a client waits until all of
 * them are parsed.
 */
import { settlesWithin } from './settles-within.js';

/** Maximum number of simultaneous background steps, on all hosts together. A step reconciles or reads one machine. */
const PARALLEL_STEPS = 4;
/** Time after which a step lets the next one begin, because its host or its QEMU may hang. */
const SLOW_MS = 500;

/** The background steps of all hosts. */
export class BackgroundWork {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /**
   * Runs a step when fewer than four others run. Steps that have run for {@link SLOW_MS} do not count. Steps begin in
   * the order of the calls. Rejects only if the step does.
   */
  async run(step: () => Promise<void>): Promise<void> {
    if (this.#running < PARALLEL_STEPS) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const running = step();
    await settlesWithin(running, SLOW_MS);
    this.#beginNext();
    await running;
  }

  #beginNext(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
