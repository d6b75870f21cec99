/** Makes the exporters: traces and metrics with OTLP over HTTP. */
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import { createOtlpHttpExportDelegate, httpAgentFactoryFromOptions } from '@opentelemetry/otlp-exporter-base/node-http';
import { ProtobufTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import type { OtlpTarget, TelemetrySettings } from '../settings.js';
import { version } from '../version.js';

/** Makes the providers of spans and metrics. The caller shuts them down. */
export function createProviders({ serviceName, traces, metrics, metricIntervalMs }: TelemetrySettings) {
  const resource = defaultResource()
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }));
  return {
    tracers: new BasicTracerProvider({
      resource,
      spanProcessors: traces.map((target) => new BatchSpanProcessor(spanExporter(target))),
    }),
    meters: new MeterProvider({
      resource,
      readers: metrics.map(
        (target) =>
          new PeriodicExportingMetricReader({
            exporter: new OTLPMetricExporter(optionsOf(target)),
            exportIntervalMillis: metricIntervalMs,
            exportTimeoutMillis: metricIntervalMs,
          }),
      ),
    }),
  };
}

/**
 * Makes the exporter of an address. `OTLPTraceExporter` adds the headers of `OTEL_EXPORTER_OTLP_HEADERS`
 * to each request. These headers may contain keys. A target such as Langfuse must not get them, so its exporter
 * ignores the environment variables.
 */
function spanExporter(target: OtlpTarget): SpanExporter {
  if (target.usesVariables) return new OTLPTraceExporter(optionsOf(target));
  const delegate = createOtlpHttpExportDelegate(
    {
      url: target.url,
      headers: () => Promise.resolve({ ...target.headers, 'content-type': 'application/x-protobuf' }),
      timeoutMillis: EXPORT_TIMEOUT_MS,
      concurrencyLimit: MAX_EXPORTS,
      compression: 'none',
      agentFactory: httpAgentFactoryFromOptions({ keepAlive: true }),
    },
    ProtobufTraceSerializer,
    'otlp_http_span_exporter',
    TraceExporterMetricsHelper,
    undefined,
  );
  return new OTLPExporterBase<ReadableSpan[]>(delegate);
}

/** OpenTelemetry's defaults. */
const EXPORT_TIMEOUT_MS = 10_000;
const MAX_EXPORTS = 30;

const optionsOf = ({ url, headers }: OtlpTarget) => ({ url, headers: { ...headers } });
