/** Answers of repeated reads can arrive in another order than the requests. An answer never replaces a newer one. */
import { useRef } from 'preact/hooks';

/** Decides which answers of repeated reads of one value still count. */
export class AnswerOrder {
  #sent = 0;
  #answered = 0;

  /**
   * Notes that a request is sent.
   * @returns a function to call once, when the answer or error has arrived. It returns false if a later request was
   *   answered first, or if {@link forget} was called meanwhile.
   */
  begin(): () => boolean {
    const number = (this.#sent += 1);
    return () => {
      if (number <= this.#answered) return false;
      this.#answered = number;
      return true;
    };
  }

  /** Ignores the answers to all earlier requests, because the component shows another value now. */
  forget(): void {
    this.#answered = this.#sent;
  }
}

/** Returns the order of the answers for a component, the same one at each rendering. */
export function useAnswerOrder(): AnswerOrder {
  const order = useRef<AnswerOrder | null>(null);
  return (order.current ??= new AnswerOrder());
}
