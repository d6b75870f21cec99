/**
 * The interface of traces and metrics for OpenTelemetry. `telemetry/` implements it, and is loaded only
 * if the configuration exports traces or metrics.
 */
import type { RequestRecord } from './series.js';

/** The beginning of a request of a client. */
export interface RequestStart {
  /** Headers of the client. `traceparent` and `tracestate` continue the client's trace. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly method: string;
  /** Path template, such as `/v1/chat/completions`. */
  readonly route: string;
  /** Result of `performance.now()`. */
  readonly startedAt: number;
  /** The id of the request in the log. */
  readonly id: string;
}

/** A request to an upstream. */
export interface AttemptStart {
  /** `model_info.mode` of the endpoint: `chat`. */
  readonly mode: string;
  /** LiteLLM's name of the provider, such as `hosted_vllm`. */
  readonly provider: string;
  /** The upstream's name for the model. */
  readonly model: string;
  readonly deploymentId: string;
  /** `api_base` of the deployment. */
  readonly url: string;
}

/** The end of a request. */
export interface RequestEnd {
  readonly record: RequestRecord;
  /** When the upstream's answer ended: a result of `performance.now()`. 0: it has not ended. */
  readonly answeredAt: number;
  /** The name of the client, as `Client.alias`; null: the client has none. */
  readonly keyAlias: string | null;
}

/** The spans of one request. */
export interface RequestSpan {
  /** Begins an attempt. @returns headers for the upstream: name, value, name, value. */
  beginAttempt(attempt: AttemptStart): readonly string[];
  /** Ends the current attempt. @param kind the kind of its error. */
  failAttempt(status: number, kind: string): void;
  /** Ends the request. The caller calls it once. */
  end(end: RequestEnd): void;
}

/** Traces and metrics. */
export interface Telemetry {
  begin(request: RequestStart): RequestSpan;
  /** Sends the last data, and waits for some seconds at most. */
  close(): Promise<void>;
}
