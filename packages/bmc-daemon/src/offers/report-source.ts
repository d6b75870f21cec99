/** The part of the feature `telemetry` that events use: metric reports for subscribers. */
import type { JsonObject } from '../redfish/json.js';

/** URI of the telemetry service. */
export const telemetryUri = '/redfish/v1/TelemetryService';

/** Returns the URI of the definition of a machine's report. @param uuid canonical. */
export const definitionUri = (uuid: string): string => `${telemetryUri}/MetricReportDefinitions/${uuid}`;

/** A report for subscribers. */
export interface ReportMessage {
  /** A newer message replaces a waiting one with the same key. */
  readonly key: string;
  /** A test report. If it replaces a waiting one, it waits behind all others. */
  readonly isTest?: true;
  /** The MetricReport without the subscriber's Context. */
  readonly body: JsonObject;
}

/** A receiver of reports. */
export interface ReportSubscriber {
  /**
   * Returns whether the subscriber wants the reports of a definition.
   * @param definition URI of a MetricReportDefinition; null for a test report, which has none.
   */
  wants(definition: string | null): boolean;
  /** Accepts a message for the subscriber. Returns at once, before the subscriber has it. */
  deliver(message: ReportMessage): void;
}

/** The source of metric reports. */
export interface ReportSource {
  /**
   * Delivers at once each periodic report whose successor is not due yet, and then each new periodic report. Does not
   * deliver reports of definitions that are made only on request.
   * @returns a function that ends the subscription.
   */
  subscribe(subscriber: ReportSubscriber): () => void;
}
