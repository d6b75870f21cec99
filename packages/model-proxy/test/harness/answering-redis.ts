/** Repeats measurements of limits that are exact only while Redis answers in time. */
import type { ProxyProcess } from './process.js';
import { waitFor } from './wait.js';

/**
 * Measures proxies while Redis answers all of them in time. On a loaded machine, Redis can take longer than the
 * proxies wait. Then they apply limits without Redis, with a warning. This function ends them, and measures other
 * proxies.
 * @param start starts the proxies.
 * @returns the result of the first measurement during which Redis answered all proxies in time.
 * @throws {Error} if there is no such measurement within the time limit of {@link waitFor}.
 */
export async function whileRedisAnswers<
  Proxies extends readonly { readonly process: Pick<ProxyProcess, 'output' | 'dispose'> }[],
  Result,
>(start: () => Promise<Proxies>, measure: (proxies: Proxies) => Promise<Result>): Promise<Result> {
  return waitFor(
    async () => {
      const proxies = await start();
      const result = await measure(proxies);
      const areAlone = proxies.some(({ process }) =>
        process.output.includes('limits of keys apply to each process alone'),
      );
      if (!areAlone) return result;
      await Promise.all(proxies.map(({ process }) => process.dispose()));
      return undefined;
    },
    () => 'Redis has not answered the proxies in time',
  );
}
