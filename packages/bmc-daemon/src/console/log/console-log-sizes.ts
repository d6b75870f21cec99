/**
 * Adds up the sizes of the console logs of all machines. Each write changes only one of them, and a sum over
 * thousands of machines for each write would be slow.
 */
export class ConsoleLogSizes {
  readonly #sizes = new Map<string, number>();
  #total = 0;

  /** Bytes of all logs. */
  get total(): number {
    return this.#total;
  }

  /** Sets the size of a machine's log in bytes. */
  set(uuid: string, size: number): void {
    this.#total += size - (this.#sizes.get(uuid) ?? 0);
    this.#sizes.set(uuid, size);
  }

  /** Removes a machine. */
  remove(uuid: string): void {
    this.set(uuid, 0);
    this.#sizes.delete(uuid);
  }
}
