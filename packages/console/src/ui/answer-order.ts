/** Readings whose answers can arrive in another order than the requests: an answer never replaces a newer one. */
import { useRef } from 'preact/hooks';

/** The readings of one value. */
export class Newest {
  #sent = 0;
  #answered = 0;

  /**
   * Begins a reading.
   * @returns a function to call once with the answer at hand: whether it is newer than all answers so far.
   */
  begin(): () => boolean {
    const number = (this.#sent += 1);
    return () => {
      if (number <= this.#answered) return false;
      this.#answered = number;
      return true;
    };
  }

  /** Ignores the answers to all readings so far, because the component shows another value now. */
  forget(): void {
    this.#answered = this.#sent;
  }
}

/** Returns the readings of a component. */
export function useNewest(): Newest {
  const newest = useRef<Newest | null>(null);
  return (newest.current ??= new Newest());
}
