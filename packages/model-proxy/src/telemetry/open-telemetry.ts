/** Traces and metrics of model requests, with OpenTelemetry's SDK. They never contain prompts or answers. */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Meter,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Log } from '@rackless/daemon/log/log.js';
import type { AttemptStart, RequestEnd, RequestSpan, RequestStart, Telemetry } from '../request-span.js';
import type { TelemetrySettings } from '../settings.js';
import { version } from '../version.js';
import { createProviders } from './destinations.js';
import { DURATION_BOUNDS, operationOf, providerNameOf, TOKEN_BOUNDS } from './gen-ai.js';

/** How long the proxy waits at its end, at most, until the last data is sent. */
const CLOSE_MS = 5000;
/** Time between two warnings about exports that fail. */
const WARNING_MS = 60_000;
const SCOPE = 'rackless-model-proxy';

const propagator = new W3CTraceContextPropagator();
const fromHeaders = {
  keys: (headers: RequestStart['headers']) => Object.keys(headers),
  get: (headers: RequestStart['headers'], name: string) => headers[name],
};
const toHeaders = {
  set: (headers: string[], name: string, value: string) => void headers.push(name, value),
};

/** Starts to export traces and metrics. From then on, failures of OpenTelemetry anywhere in the process are logged. */
export function openTelemetry(settings: TelemetrySettings, log: Pick<Log, 'warn'>): Telemetry {
  reportFailures(log);
  const { tracers, meters } = createProviders(settings);
  const tracer = tracers.getTracer(SCOPE, version);
  const instruments = createInstruments(meters.getMeter(SCOPE, version));
  return {
    begin: (request) => new Spans(tracer, instruments, request),
    async close() {
      const end = Promise.allSettled([tracers.shutdown(), meters.shutdown()]);
      await Promise.race([end, delay(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}

/** Logs failed exports and the warnings of OpenTelemetry, each at most once a minute. */
function reportFailures(log: Pick<Log, 'warn'>): void {
  const warner = (message: string) => {
    let warnedAt = -Infinity;
    return (...parts: readonly unknown[]): void => {
      const now = performance.now();
      if (now - warnedAt < WARNING_MS) return;
      warnedAt = now;
      log.warn(message, { reason: parts.flatMap(reasonOf).join(': ').slice(0, 300) });
    };
  };
  const fail = warner('telemetry cannot be exported');
  setGlobalErrorHandler((error) => fail(error instanceof Error ? error : JSON.stringify(error)));
  const ignore = (): void => undefined;
  diag.setLogger(
    { error: fail, warn: warner('OpenTelemetry warns'), info: ignore, debug: ignore, verbose: ignore },
    {
      logLevel: DiagLogLevel.WARN,
      suppressOverrideMessage: true,
    },
  );
}

/** Returns the text of a part of a report of OpenTelemetry, or the message of an error; empty for any other value. */
function reasonOf(part: unknown): readonly string[] {
  if (part instanceof Error) return [part.message];
  return typeof part === 'string' ? [part] : [];
}

type Instruments = ReturnType<typeof createInstruments>;

function createInstruments(meter: Meter) {
  const histogram = (name: string, unit: string, description: string, bounds: number[]) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } });
  return {
    requests: histogram('http.server.request.duration', 's', 'Duration of requests of clients.', DURATION_BOUNDS),
    operations: histogram('gen_ai.client.operation.duration', 's', 'Duration of requests to models.', DURATION_BOUNDS),
    tokens: histogram('gen_ai.client.token.usage', '{token}', 'Tokens of requests and answers.', TOKEN_BOUNDS),
  };
}

/** An attempt that has not ended. */
interface OpenAttempt {
  readonly span: Span;
  readonly startedAt: number;
  /** For the metrics. */
  readonly attributes: Attributes;
}

/** The spans of one request: one for the client's request, and one for each attempt. */
class Spans implements RequestSpan {
  readonly #tracer: Tracer;
  readonly #instruments: Instruments;
  readonly #request: RequestStart;
  readonly #span: Span;
  readonly #context: Context;
  #attempt: OpenAttempt | null = null;

  constructor(tracer: Tracer, instruments: Instruments, request: RequestStart) {
    this.#tracer = tracer;
    this.#instruments = instruments;
    this.#request = request;
    const { headers, method, route, startedAt, id } = request;
    const parent = propagator.extract(ROOT_CONTEXT, headers, fromHeaders);
    const attributes = { 'http.request.method': method, 'http.route': route, 'rackless.request.id': id };
    const options = { kind: SpanKind.SERVER, startTime: startedAt, attributes };
    this.#span = tracer.startSpan(`${method} ${route}`, options, parent);
    this.#context = trace.setSpan(parent, this.#span);
  }

  beginAttempt({ mode, provider, model, deploymentId, url }: AttemptStart): readonly string[] {
    const operation = operationOf(mode);
    const { hostname, port, protocol } = new URL(url);
    const attributes = {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': providerNameOf(provider),
      'gen_ai.request.model': model,
      'server.address': hostname,
      'server.port': Number(port === '' ? (protocol === 'https:' ? 443 : 80) : port),
    };
    const startedAt = performance.now();
    const span = this.#tracer.startSpan(
      `${operation} ${model}`,
      {
        kind: SpanKind.CLIENT,
        startTime: startedAt,
        attributes: { ...attributes, 'rackless.deployment.id': deploymentId },
      },
      this.#context,
    );
    this.#attempt = { span, startedAt, attributes };
    const headers: string[] = [];
    propagator.inject(trace.setSpan(this.#context, span), headers, toHeaders);
    return headers;
  }

  failAttempt(status: number, kind: string): void {
    this.#endAttempt(performance.now(), { status, kind });
  }

  end({ record, answeredAt, keyAlias }: RequestEnd): void {
    const { status, errorKind, modelGroup, totalMs, inputTokens, outputTokens, totalTokens } = record;
    const { method, route, startedAt } = this.#request;
    const failure = errorKind === null ? null : { status, kind: errorKind };
    if (this.#attempt !== null && totalTokens > 0) {
      const { span, attributes } = this.#attempt;
      span.setAttributes({ 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens });
      this.#instruments.tokens.record(inputTokens, { ...attributes, 'gen_ai.token.type': 'input' });
      this.#instruments.tokens.record(outputTokens, { ...attributes, 'gen_ai.token.type': 'output' });
    }
    this.#endAttempt(answeredAt || startedAt + totalMs, failure);
    const error = status >= 500 ? { 'error.type': String(status) } : {};
    this.#span.setAttributes({
      'http.response.status_code': status,
      ...(modelGroup === '' ? {} : { 'rackless.model_group': modelGroup }),
      ...(keyAlias === null ? {} : { 'rackless.key.alias': keyAlias }),
      ...error,
    });
    if (status >= 500) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end(startedAt + totalMs);
    this.#instruments.requests.record(totalMs / 1000, {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      ...error,
    });
  }

  #endAttempt(endedAt: number, failure: { readonly status: number; readonly kind: string } | null): void {
    if (this.#attempt === null) return;
    const { span, startedAt, attributes } = this.#attempt;
    this.#attempt = null;
    const error = failure === null ? {} : { 'error.type': failure.kind };
    if (failure !== null) {
      span.setAttributes({ ...error, 'http.response.status_code': failure.status });
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(endedAt);
    this.#instruments.operations.record((endedAt - startedAt) / 1000, { ...attributes, ...error });
  }
}
