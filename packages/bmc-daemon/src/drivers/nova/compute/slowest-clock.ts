/**
 * The time of a cloud by its slowest clock. Several hosts may answer for Nova, and their clocks may
 * differ. With the time of a fast clock, `changes-since` would omit changes that a host with a slow clock
 * has stored.
 */

/** The differences between the cloud's clocks and the clock of this process. */
export class SlowestClock {
  /** The smallest difference of this period, in milliseconds. */
  #current = Infinity;
  /** The smallest difference of the period before. */
  #previous = Infinity;

  /** Begins a period. Forgets the differences of the period before the last one. */
  beginPeriod(): void {
    this.#previous = this.#current;
    this.#current = Infinity;
  }

  /**
   * Returns the cloud's time by its slowest clock.
   * @param cloudMs the time that the cloud has just reported, in milliseconds since 1970.
   * @param localMs the same moment as {@link performance.now}.
   */
  timeOf(cloudMs: number, localMs: number): number {
    this.#current = Math.min(this.#current, cloudMs - localMs);
    return localMs + Math.min(this.#current, this.#previous);
  }
}
