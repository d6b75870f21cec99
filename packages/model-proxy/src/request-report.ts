/**
 * The interface of reports about requests. `webhooks/` implements it, and is loaded only if the configuration has
 * a webhook.
 */

/** Sends reports about finished requests. */
export interface RequestReports {
  /**
   * Queues a report. Never throws, and never waits.
   * @param payload makes the report; not called if no webhook wants it.
   */
  add(outcome: 'success' | 'failure', payload: () => object): void;
  /** Sends the queued reports, and waits for some seconds at most. */
  close(): Promise<void>;
}
