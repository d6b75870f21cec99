/**
 * Makes the reports of machines. Periodic reports are made at their intervals, while a client
 * subscribes to them or has read them recently. Reports on request are made when a client reads
 * them. While the host answers without delay, a reader receives no periodic report that is more than
 * a second older than its interval. Without readers and subscribers, the host is not queried.
 */
import type { HypervisorDriver } from '../drivers/driver.js';
import type { SystemRef } from '../drivers/snapshot/system-snapshot.js';
import type { JsonObject } from '../redfish/json.js';
import { metricValues } from './metric-values.js';
import { MIN_INTERVAL_SECONDS, type ReportDefinitions } from './report-definitions.js';
import type { ReportSource, ReportSubscriber } from '../offers/report-source.js';
import type { Report } from './report.js';
import { ReportSubscriptions } from './report-subscriptions.js';
import { waitForSample, type Measurement, type Sample, type Samplers } from './sampler.js';

interface ReportScheduleOptions {
  readonly driver: Pick<HypervisorDriver, 'listSystems'>;
  readonly definitions: ReportDefinitions;
  readonly samplers: Samplers;
  /** The steady clock: that of the samplers, monotonic, in milliseconds. */
  readonly clock: () => number;
  /** How long a reader waits for a slow host before it receives the stored report. */
  readonly waitMs: number;
  /** Called with each failure to make a due report, and with null after a success. */
  readonly onHealth: (failure: unknown) => void;
}

/** The latest report of a machine. */
interface LatestReport {
  readonly report: Report;
  readonly measurement: Measurement;
  /** Time by the steady clock. The measurement may be older. */
  readonly madeAt: number;
  /**
   * Whether no earlier measurement of the same run of the machine is recent enough for rates. Rates need two
   * measurements, so the next report then follows soon.
   */
  readonly isFirst: boolean;
}

/**
 * A read keeps a periodic report active for this time or for this number of intervals, whichever is
 * longer.
 */
const WATCHED_MS = 300_000;
const WATCHED_INTERVALS = 3;
/** Maximum time that a rate may cover; two intervals of the report if they are longer. */
const MAX_WINDOW_MS = 600_000;
const MIN_INTERVAL_MS = MIN_INTERVAL_SECONDS * 1000;
/**
 * The minimum time between the first two reports, as a multiple of the duration of the first
 * sample. With less time, the second report may have no rates, because the times of samples are
 * uncertain (metric-values.ts).
 */
const SAMPLE_TIMES = 6;
/** The pause before another attempt if the host does not answer. */
const RETRY_MS = 5_000;
/** The interval of checks for new machines. */
const MAX_SLEEP_MS = 60_000;

/** Makes the metric reports of machines, at intervals or when a client reads them. */
export class ReportSchedule implements ReportSource {
  readonly #options: ReportScheduleOptions;
  readonly #latest = new Map<string, LatestReport>();
  /** By UUID: until when the schedule makes reports because of the latest read. */
  readonly #watched = new Map<string, number>();
  /** By UUID: when a machine was added or started, if it was not measured since. */
  readonly #begun = new Map<string, number>();
  readonly #subscriptions = new ReportSubscriptions();
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  /** Counts changes that require another run while one is in progress. */
  #changes = 0;
  #closed = false;

  constructor(options: ReportScheduleOptions) {
    this.#options = options;
  }

  /**
   * Returns a report that is current by its definition, or the latest report if the host does not
   * answer. While the report is disabled, returns the latest report, or an empty report.
   * @throws {DriverError} if the host does not answer and there is no earlier report.
   */
  async read(machine: SystemRef): Promise<Report> {
    const { uuid } = machine;
    const { clock, definitions } = this.#options;
    const latest = this.#latestNamed(machine);
    if (!this.#isOn(uuid)) return latest?.report ?? { machine, measurement: null, values: [] };
    const { type, intervalSeconds } = definitions.get(uuid);
    const isNew = type === 'periodic' && !this.#isObserved(uuid);
    if (type === 'periodic') {
      this.#watched.set(uuid, clock() + Math.max(WATCHED_MS, WATCHED_INTERVALS * intervalSeconds * 1000));
    }
    try {
      return latest !== undefined && clock() < this.#dueAt(uuid) ? latest.report : await this.#makeNow(machine);
    } catch (error) {
      // The client sees the age of the stored report in its Timestamp.
      if (latest !== undefined) return latest.report;
      throw error;
    } finally {
      if (isNew) this.recompute();
    }
  }

  subscribe(subscriber: ReportSubscriber): () => void {
    const subscription = this.#subscriptions.add(subscriber);
    for (const [uuid, { report }] of this.#latest) {
      if (this.#isPeriodic(uuid) && this.#options.clock() < this.#dueAt(uuid))
        this.#subscriptions.send(report, subscription);
    }
    this.recompute();
    return () => this.#subscriptions.remove(subscription);
  }

  /** Sends a test report to all subscribers that did not select definitions. */
  sendTest(body: JsonObject): void {
    this.#subscriptions.sendTest(body);
  }

  /** Returns the latest report of a machine, however old; undefined if there is none. */
  storedReport(uuid: string): Report | undefined {
    return this.#latest.get(uuid)?.report;
  }

  /** Ignores earlier measurements of a machine that is new or was started. */
  discardEarlier(uuid: string): void {
    this.#begun.set(uuid, this.#options.clock());
    this.recompute();
  }

  /** Removes the data of a removed machine. */
  forget(uuid: string): void {
    this.#latest.delete(uuid);
    this.#watched.delete(uuid);
    this.#begun.delete(uuid);
    this.#options.samplers.remove(uuid);
    this.#subscriptions.forget(uuid);
  }

  /** Recomputes the schedule after a change. */
  recompute(): void {
    this.#changes += 1;
    this.#sleep(0);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#subscriptions.clear();
  }

  /** Returns the latest report of a machine, with its current name; undefined if there is none. */
  #latestNamed(machine: SystemRef): LatestReport | undefined {
    const latest = this.#latest.get(machine.uuid);
    if (latest === undefined || latest.report.machine.name === machine.name) return latest;
    const renamed = { ...latest, report: { ...latest.report, machine } };
    this.#latest.set(machine.uuid, renamed);
    return renamed;
  }

  #isOn(uuid: string): boolean {
    const { definitions } = this.#options;
    return definitions.enabled && definitions.get(uuid).enabled;
  }

  #isPeriodic(uuid: string): boolean {
    return this.#isOn(uuid) && this.#options.definitions.get(uuid).type === 'periodic';
  }

  /** Returns whether a client would receive a report now. */
  #isObserved(uuid: string): boolean {
    if (!this.#isPeriodic(uuid)) return false;
    return (this.#watched.get(uuid) ?? 0) > this.#options.clock() || this.#subscriptions.wants(uuid);
  }

  /** Returns when a machine's next report is due, by the steady clock. */
  #dueAt(uuid: string): number {
    const latest = this.#latest.get(uuid);
    const begun = this.#begun.get(uuid);
    // The sampler reuses a sample for a while. After this time, the next sample is surely newer
    // than the start of the machine.
    const newAt = begun === undefined ? undefined : begun + MIN_INTERVAL_MS;
    if (latest === undefined) return newAt ?? -Infinity;
    return Math.min(this.#nextAt(uuid, latest), newAt ?? Infinity);
  }

  /** Returns when the report after `latest` is due, if the machine was not started meanwhile. */
  #nextAt(uuid: string, { madeAt, measurement, isFirst }: LatestReport): number {
    const { type, intervalSeconds } = this.#options.definitions.get(uuid);
    if (type === 'onRequest') return measurement.clockMs + MIN_INTERVAL_MS;
    if (isFirst && measurement.statistics !== null) {
      return measurement.clockMs + Math.max(MIN_INTERVAL_MS, SAMPLE_TIMES * measurement.tookMs);
    }
    const intervalMs = intervalSeconds * 1000;
    // Reports are due at multiples of the interval on the clock. So machines with the same interval
    // share samples, whenever a client first read them.
    const next = (Math.floor(madeAt / intervalMs) + 1) * intervalMs;
    const planned = next - madeAt < MIN_INTERVAL_MS / 2 ? next + intervalMs : next;
    // A shared sample was taken before the report was made, and it must not become older than the
    // interval. The pause limits the queries to a slow host.
    return Math.min(planned, Math.max(measurement.clockMs + intervalMs, madeAt + MIN_INTERVAL_MS));
  }

  /** Makes a report for a reader, who waits at most `waitMs`. @throws as {@link waitForSample}. */
  async #makeNow(machine: SystemRef): Promise<Report> {
    const { samplers, definitions, clock, waitMs } = this.#options;
    const { type, intervalSeconds } = definitions.get(machine.uuid);
    const sampler = samplers.of(machine.uuid);
    const { sample } = sampler.last;
    // A sample may contain all machines, so a sample for another machine may be recent enough.
    const isRecent =
      type === 'periodic' && !this.#latest.has(machine.uuid) && sample !== undefined
        ? clock() - sample.clockMs < intervalSeconds * 1000 &&
          sample.clockMs >= (this.#begun.get(machine.uuid) ?? -Infinity)
        : false;
    if (isRecent && sample !== undefined) return this.#make(machine, sample);
    return this.#make(machine, await waitForSample(sampler.sample(), waitMs));
  }

  #make(machine: SystemRef, sample: Sample): Report {
    const { definitions, clock, samplers } = this.#options;
    const { uuid } = machine;
    const measurement = sample.measurementOf(uuid);
    const last = this.#latest.get(uuid);
    if (last?.measurement.clockMs === measurement.clockMs) {
      this.#latest.set(uuid, { ...last, madeAt: clock() });
      return last.report;
    }
    const maxMs = Math.max(MAX_WINDOW_MS, 2 * definitions.get(uuid).intervalSeconds * 1000);
    const before = [last?.measurement, samplers.of(uuid).last.before?.measurementOf(uuid)].find(
      (earlier) => earlier !== undefined && isWithin(measurement.clockMs - earlier.clockMs, maxMs),
    );
    const report = { machine, measurement, values: metricValues(measurement, before) };
    const isFirst = before?.statistics?.run !== measurement.statistics?.run;
    this.#latest.set(uuid, { report, measurement, madeAt: clock(), isFirst });
    if (measurement.clockMs >= (this.#begun.get(uuid) ?? Infinity)) this.#begun.delete(uuid);
    if (this.#isPeriodic(uuid)) this.#subscriptions.send(report);
    return report;
  }

  /**
   * Removes the data of machines that do not exist anymore. A machine may have been removed during a
   * sample, or while the host was down.
   */
  #retain(uuids: ReadonlySet<string>): void {
    for (const uuid of this.#latest.keys()) if (!uuids.has(uuid)) this.forget(uuid);
  }

  #sleep(ms: number): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#run(), ms);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    // One query at a time: a slow host is not queried again before it answers.
    if (this.#running || this.#closed) return;
    this.#running = true;
    const changes = this.#changes;
    const next = await this.#makeDue();
    this.#running = false;
    if (this.#changes !== changes) this.#sleep(0);
    else if (next !== undefined) this.#sleep(next);
  }

  /**
   * Makes the due reports.
   * @returns milliseconds until the next run; undefined without readers and subscribers.
   */
  async #makeDue(): Promise<number | undefined> {
    const { driver, samplers, clock, onHealth } = this.#options;
    if (this.#subscriptions.size === 0 && ![...this.#watched.values()].some((until) => until > clock())) {
      this.#watched.clear();
      samplers.forget();
      return undefined;
    }
    try {
      const machines = await driver.listSystems();
      this.#retain(new Set(machines.map(({ uuid }) => uuid)));
      const observed = machines.filter(({ uuid }) => this.#isObserved(uuid));
      const due = observed.filter(({ uuid }) => this.#dueAt(uuid) <= clock());
      await samplers.sampleAll(due, (machine, sample) => this.#make(machine, sample));
      onHealth(null);
      const next = Math.min(...observed.map(({ uuid }) => this.#dueAt(uuid)));
      return Math.min(Math.max(0, next - clock()), MAX_SLEEP_MS);
    } catch (error) {
      onHealth(error);
      return RETRY_MS;
    }
  }
}

function isWithin(window: number, maxMs: number): boolean {
  return window > 0 && window <= maxMs;
}
