/**
 * Queues the reports for one receiver, and sends them in batches, one batch after the other. A
 * receiver that is slow or unreachable never delays a request of a client.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '@rackless/daemon/log/log.js';
import type { WebhookSettings } from '../settings.js';

/** Reports beyond this number are lost. A report has about 1 KB, so the queue needs at most about 10 MB. */
const MAX_QUEUED = 10_000;
/** Maximum time that {@link Webhook.close} waits. */
const CLOSE_MS = 5000;
/** Time between two warnings. */
const WARNING_MS = 60_000;
/** The reason of losses at the end of the proxy. */
const ENDING = 'the proxy ends';
/** The longest wait before a batch is sent again. */
const MAX_DELAY_MS = 60_000;

/** A receiver. */
export class Webhook {
  readonly #settings: WebhookSettings;
  readonly #log: Pick<Log, 'warn'>;
  /** Aborted by `close`: from then on, reports are neither accepted nor sent again. */
  readonly #closing = new AbortController();
  /** Aborted when the time of `close` is over. Ends the running request. */
  readonly #ended = new AbortController();
  #queue: object[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The transfer of the queue; null: none. */
  #sending: Promise<void> | null = null;
  /** Number of reports that the receiver did not get, and that number in the last warning. */
  #lost = 0;
  #warnedLost = 0;
  #warnedAt = -Infinity;

  constructor(settings: WebhookSettings, log: Pick<Log, 'warn'>) {
    this.#settings = settings;
    this.#log = log;
  }

  wants(outcome: 'success' | 'failure'): boolean {
    return this.#settings.outcomes.has(outcome);
  }

  add(report: object): void {
    if (this.#closing.signal.aborted) return;
    if (this.#queue.length >= MAX_QUEUED) {
      this.#lose(1, 'the queue is full');
      return;
    }
    this.#queue.push(report);
    if (this.#queue.length >= this.#settings.batchSize) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), this.#settings.flushMs).unref();
  }

  /**
   * Sends the queue once, without further attempts, and waits for at most five seconds. Logs the number of all lost
   * reports if the last warning had another number.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    const end = (async () => {
      await this.#sending;
      this.#flush();
      await this.#sending;
    })();
    await Promise.race([end, delay(CLOSE_MS, undefined, { ref: false })]);
    const unsent = this.#queue.length;
    this.#queue = [];
    this.#ended.abort();
    // The running request ends at once, and counts its reports.
    await end;
    this.#lost += unsent;
    if (this.#lost > this.#warnedLost) this.#warn(ENDING);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sending !== null || this.#queue.length === 0) return;
    this.#sending = this.#sendQueue().finally(() => {
      this.#sending = null;
    });
  }

  async #sendQueue(): Promise<void> {
    const { batchSize } = this.#settings;
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, batchSize);
      this.#queue = this.#queue.slice(batchSize);
      for (const body of bodiesOf(batch, this.#settings.format)) {
        const reason = await this.#deliver(body.text);
        if (reason !== null) this.#lose(body.count, reason);
      }
    }
  }

  /**
   * Sends a body. After a failure that may be temporary, sends it again, `maxRetries` times at most.
   * @returns the reason why the receiver did not accept the body; null: the receiver accepted it.
   */
  async #deliver(body: string): Promise<string | null> {
    const { maxRetries, retryDelayMs } = this.#settings;
    for (let attempt = 0; ; attempt += 1) {
      const { reason, isFinal } = await this.#post(body);
      if (reason === null || isFinal || attempt >= maxRetries || this.#closing.signal.aborted) return reason;
      const wait = Math.min(MAX_DELAY_MS, retryDelayMs * 2 ** attempt);
      await delay(wait, undefined, { ref: false, signal: this.#closing.signal }).catch(() => undefined);
    }
  }

  async #post(body: string): Promise<{ readonly reason: string | null; readonly isFinal: boolean }> {
    const { url, headers, timeoutMs, format } = this.#settings;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': format === 'ndjson' ? 'application/x-ndjson' : 'application/json', ...headers },
        body,
        // Another host must not get the headers, which may contain a key.
        redirect: 'manual',
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#ended.signal]),
      });
      await response.body?.cancel();
      const { ok, status } = response;
      return { reason: ok ? null : `status ${status}`, isFinal: status < 500 && status !== 408 && status !== 429 };
    } catch (error) {
      return { reason: this.#ended.signal.aborted ? ENDING : reasonOf(error), isFinal: false };
    }
  }

  /** Counts reports that the receiver does not get, and logs this at most once a minute. */
  #lose(count: number, reason: string): void {
    this.#lost += count;
    if (performance.now() - this.#warnedAt >= WARNING_MS) this.#warn(reason);
  }

  #warn(reason: string): void {
    this.#warnedAt = performance.now();
    this.#warnedLost = this.#lost;
    this.#log.warn('a callback did not get reports', { callback: this.#settings.name, lost: this.#lost, reason });
  }
}

/** Renders reports in one of LiteLLM's formats. */
function bodiesOf(
  batch: readonly object[],
  format: WebhookSettings['format'],
): readonly { readonly text: string; readonly count: number }[] {
  if (format === 'single') return batch.map((one) => ({ text: JSON.stringify(one), count: 1 }));
  const lines = batch.map((one) => JSON.stringify(one));
  return [{ text: format === 'ndjson' ? `${lines.join('\n')}\n` : `[${lines.join(',')}]`, count: batch.length }];
}

/** Returns the reason of a failed request. The message of `fetch` itself says nothing: "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
