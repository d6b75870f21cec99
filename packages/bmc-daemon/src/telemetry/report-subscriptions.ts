/** Sends reports to the subscribers of metric reports. */
import { definitionUri, type ReportMessage, type ReportSubscriber } from '../offers/report-source.js';
import type { JsonObject } from '../redfish/json.js';
import { reportMessage, type Report } from './report.js';

/** A subscriber with its own record of empty reports. */
interface Subscription {
  readonly subscriber: ReportSubscriber;
  /** Machines whose last report to the subscriber was empty; another empty report is not sent. */
  readonly empty: Set<string>;
}

/**
 * Maximum number of test reports that wait for one subscriber. A client can send any number of them, with up to 1 MiB
 * each, while a listener is suspended.
 */
const MAX_WAITING_TESTS = 10;

/** The subscriptions to the reports of all machines. */
export class ReportSubscriptions {
  readonly #subscriptions = new Set<Subscription>();
  /** The number of test reports that were sent. */
  #tests = 0;

  /** The number of subscriptions. */
  get size(): number {
    return this.#subscriptions.size;
  }

  /** Adds a subscriber. */
  add(subscriber: ReportSubscriber): Subscription {
    const subscription: Subscription = { subscriber, empty: new Set() };
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Ends a subscription. */
  remove(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
  }

  /** Returns whether a subscriber wants the reports of a machine. */
  wants(uuid: string): boolean {
    const uri = definitionUri(uuid);
    return [...this.#subscriptions].some(({ subscriber }) => subscriber.wants(uri));
  }

  /**
   * Sends a report to all subscribers that want it. Does not send a second empty report of the same
   * machine in a row.
   * @param only if given, the only subscription that gets the report.
   */
  send(report: Report, only?: Subscription): void {
    const { uuid } = report.machine;
    const uri = definitionUri(uuid);
    let message: ReportMessage | undefined;
    for (const { subscriber, empty } of only === undefined ? this.#subscriptions : [only]) {
      if (!subscriber.wants(uri)) continue;
      if (report.values.length > 0) empty.delete(uuid);
      else if (empty.has(uuid)) continue;
      else empty.add(uuid);
      subscriber.deliver((message ??= reportMessage(report)));
    }
  }

  /** Sends a test report to all subscribers that did not select definitions. */
  sendTest(body: JsonObject): void {
    const message = { key: `test ${this.#tests % MAX_WAITING_TESTS}`, body, isTest: true } as const;
    this.#tests += 1;
    for (const { subscriber } of this.#subscriptions) if (subscriber.wants(null)) subscriber.deliver(message);
  }

  /** Removes the data of a removed machine. */
  forget(uuid: string): void {
    for (const { empty } of this.#subscriptions) empty.delete(uuid);
  }

  /** Removes all subscriptions. */
  clear(): void {
    this.#subscriptions.clear();
  }
}
