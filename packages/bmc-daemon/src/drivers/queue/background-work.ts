/**
 * Limits how many machines are reconciled or read in the background at once: after the start, after a new connection,
 * and after a list with new machines. Parsing the XML of a machine costs about 2 ms of CPU time.
 * Without a limit, the answers of 20 hosts arrive together, and a request of a client waits until all of
 * them are parsed.
 */
import { settlesWithin } from './settles-within.js';

/** Background reads at once, on all hosts together. */
const PARALLEL_READS = 4;
/** Time after which a read lets the next one begin, because its host or its QEMU may hang. */
const SLOW_MS = 500;

/** The background reads of all hosts. */
export class BackgroundReads {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /**
   * Runs a read when fewer than four others run. Reads that have run for {@link SLOW_MS} do not count. Reads begin in
   * the order of the calls. Rejects only if the read does.
   */
  async run(read: () => Promise<void>): Promise<void> {
    if (this.#running < PARALLEL_READS) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const reading = read();
    await settlesWithin(reading, SLOW_MS);
    this.#beginNext();
    await reading;
  }

  #beginNext(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
