/** Combines sampling, report definitions and their schedule. */
import { performance } from 'node:perf_hooks';
import type { Log } from '@rackless/daemon/log/log.js';
import { DriverError } from '../drivers/driver-error.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import type { SystemRef } from '../drivers/snapshot/system-snapshot.js';
import type { Awaitable, JsonObject } from '../redfish/resource.js';
import { openStateFile } from '../state-file.js';
import {
  initialTelemetry,
  openReportDefinitions,
  telemetryState,
  type DefinitionChange,
  type ReportDefinition,
  type ReportDefinitions,
} from './report-definitions.js';
import type { ReportSource } from '../offers/report-source.js';
import type { Report } from './report.js';
import { ReportSchedule } from './report-schedule.js';
import { Samplers } from './sampler.js';

/** Metric reports and their definitions. */
export interface Telemetry extends ReportSource {
  /** Whether reports are enabled. */
  readonly enabled: boolean;
  /** Enables or disables all reports. @throws as {@link ReportDefinitions.setEnabled}. */
  setEnabled(enabled: boolean): Awaitable<void>;
  /** Returns the definition of a machine's report; the same object until it is changed. */
  definition(uuid: string): ReportDefinition;
  /** Changes the definition of a machine's report. @throws as {@link ReportDefinitions.change}. */
  change(uuid: string, change: DefinitionChange): Awaitable<void>;
  /**
   * Returns the report of a machine: one that is current by its definition, or the latest one if
   * the host does not answer.
   * @throws {DriverError} if the host does not answer and there is no earlier report.
   */
  report(machine: SystemRef): Promise<Report>;
  /** Returns the latest report of a machine by its UUID, for a machine that cannot be looked up; undefined: none. */
  storedReport(uuid: string): Report | undefined;
  /**
   * Sends a test report to the subscribers that did not select definitions. If many test reports wait for a subscriber,
   * it gets only the newest ones.
   */
  sendTest(body: JsonObject): void;
  /** Ends the schedule and all subscriptions. */
  close(): void;
}

interface TelemetryOptions {
  readonly driver: Pick<HypervisorDriver, 'listSystems' | 'isListIncomplete' | 'onChange' | 'statistics'>;
  readonly now: () => Date;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** A monotonic clock in milliseconds. Default: performance.now. */
  readonly clock?: () => number;
}

interface OpenTelemetryOptions extends TelemetryOptions {
  readonly stateDir: string;
  /**
   * Distinguishes the definitions of this service from those of another service that used the folder.
   */
  readonly serviceUuid: string;
  /** The definitions of all replicas. Default: those in EMULATOR_STATE_DIR. */
  readonly definitions?: ReportDefinitions | undefined;
}

/** A reader of a slow host receives the stored report after this time. */
const WAIT_MS = 4_000;
/**
 * Maximum age of a reused sample: slightly below the shortest interval, because timers are not
 * exact.
 */
const SAMPLE_MAX_AGE_MS = 900;

/**
 * Opens telemetry with the given definitions, or with those in EMULATOR_STATE_DIR. Takes no sample before a
 * client reads or subscribes.
 * @throws {StateFileError} if the file of the definitions cannot be read. A damaged file is renamed.
 * @throws {Error} if the driver has no statistics.
 */
export function openTelemetry(options: OpenTelemetryOptions): Telemetry {
  const { stateDir: folder, serviceUuid, definitions, log } = options;
  if (definitions !== undefined) return createTelemetry({ ...options, definitions });
  const name = `telemetry-${serviceUuid}`;
  const file = { folder, name, schema: telemetryState, initial: initialTelemetry, log, broken: 'setAside' } as const;
  return createTelemetry({ ...options, definitions: openReportDefinitions(openStateFile(file)) });
}

/**
 * Creates telemetry with the given definitions. Takes no sample before a client reads or subscribes.
 * @throws {Error} if the driver has no statistics.
 */
export function createTelemetry(options: TelemetryOptions & { readonly definitions: ReportDefinitions }): Telemetry {
  const { driver, definitions, now, log } = options;
  const { statistics } = driver;
  if (statistics === undefined) throw new Error('opening telemetry: the driver has no statistics');
  const clock = options.clock ?? (() => performance.now());
  let isHealthy = true;
  const schedule = new ReportSchedule({
    driver,
    definitions,
    samplers: new Samplers({ statistics, now, clock, minAgeMs: SAMPLE_MAX_AGE_MS }),
    clock,
    waitMs: WAIT_MS,
    onHealth: (failure) => {
      if (failure === null && !isHealthy) log.info('creating metric reports works again');
      // Logs once, not every few seconds while the host is down.
      if (failure !== null && isHealthy) log.warn('creating metric reports failed', { error: failure });
      isHealthy = failure === null;
    },
  });
  definitions.onChange(() => schedule.recompute());
  const unsubscribe = driver.onChange(({ kind, uuid }) => {
    if (kind === 'defined' || kind === 'started') schedule.discardEarlier(uuid);
    if (kind === 'undefined') void tidy(uuid);
  });
  /**
   * Removes the reports and the report definition of a removed machine. Does nothing if the machine exists:
   * to rename a machine, libvirt undefines it, and defines it again. So the event `undefined` comes for a rename, too.
   */
  const tidy = async (uuid: string): Promise<void> => {
    try {
      const uuids = new Set((await driver.listSystems()).map((machine) => machine.uuid));
      if (uuids.has(uuid)) return;
      schedule.forget(uuid);
      if (driver.isListIncomplete?.() !== true) await definitions.retain(uuids);
    } catch (error) {
      // If the host does not answer, the next removal cleans up.
      if (!(error instanceof DriverError)) log.warn('removing the metric reports of a machine failed', { error });
    }
  };

  return {
    get enabled() {
      return definitions.enabled;
    },
    async setEnabled(enabled) {
      await definitions.setEnabled(enabled);
      schedule.recompute();
    },
    definition: (uuid) => definitions.get(uuid),
    async change(uuid, change) {
      await definitions.change(uuid, change);
      schedule.recompute();
    },
    report: (machine) => schedule.read(machine),
    storedReport: (uuid) => schedule.storedReport(uuid),
    subscribe: (subscriber) => schedule.subscribe(subscriber),
    sendTest: (body) => schedule.sendTest(body),
    close() {
      unsubscribe();
      schedule.close();
    },
  };
}
