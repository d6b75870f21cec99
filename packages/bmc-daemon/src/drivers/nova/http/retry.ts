/** Retries a request that a service of a cloud did not execute, or that changes nothing. */
import { setTimeout as delay } from 'node:timers/promises';
import { retryAfterMs } from '@rackless/daemon/http/retry-after.js';
import { CloudFailure } from './cloud-failure.js';
import type { CloudAnswer, CloudRequest, Exchange } from './exchange.js';

/** Maximum number of attempts for one request. */
const MAX_ATTEMPTS = 3;
/** Delay before the second attempt, without Retry-After. The third attempt waits twice as long. */
const FIRST_DELAY_MS = 200;
const overloaded: ReadonlySet<number> = new Set([429, 503]);
/** A gateway may answer with these statuses after the service has executed a POST. So only a GET is retried. */
const gatewayFailed: ReadonlySet<number> = new Set([502, 504]);

/**
 * Sends a request, and retries it after temporary failures. Retry-After has precedence over the
 * usual delay. If the delay would exceed the deadline, the last answer or failure is the result.
 * @throws {CloudFailure} of the last attempt; `closed`, if the signal aborts during a delay.
 */
export async function sendWithRetries(
  exchange: Exchange,
  request: CloudRequest,
  { deadline, signal }: { readonly deadline: number; readonly signal: AbortSignal },
): Promise<CloudAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const usual = FIRST_DELAY_MS * 2 ** (attempt - 1);
    let wait: number | undefined;
    let finish: () => CloudAnswer;
    try {
      const answer = await exchange.send(request, deadline);
      wait = delayAfter(answer, request, usual);
      finish = () => answer;
    } catch (error) {
      if (!(error instanceof CloudFailure)) throw error;
      const mayRetry = error.kind === 'unreachable' || (error.kind === 'interrupted' && request.method === 'GET');
      wait = mayRetry ? usual : undefined;
      finish = () => {
        throw error;
      };
    }
    if (wait === undefined || attempt === MAX_ATTEMPTS || performance.now() + wait >= deadline) return finish();
    await delay(wait, undefined, { signal }).catch((error: unknown) => {
      throw new CloudFailure('closed', 'the service is shutting down', { cause: error });
    });
  }
}

/** Returns the delay before the next attempt; undefined if the answer is final. */
function delayAfter(answer: CloudAnswer, { method }: CloudRequest, usual: number): number | undefined {
  const isTemporary = overloaded.has(answer.status) || (method === 'GET' && gatewayFailed.has(answer.status));
  return isTemporary ? (retryAfterMs(answer.headers, Date.now()) ?? usual) : undefined;
}
