/** Makes the exporters: traces and metrics with OTLP over HTTP. */
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
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
      spanProcessors: traces.map((target) => new BatchSpanProcessor(new OTLPTraceExporter(optionsOf(target)))),
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

const optionsOf = ({ url, headers }: OtlpTarget) => ({ url, headers: { ...headers } });
