/**
 * Reads where traces and metrics go: LiteLLM's callbacks `otel` and `langfuse_otel`, with their
 * variables and those of OpenTelemetry.
 * @see https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
import type { YamlNode } from '@rackless/daemon/yaml/yaml-node.js';
import type { Environment, OtlpTarget, TelemetrySettings } from '../../settings.js';
import { ENVIRONMENT, type Findings } from '../faults.js';
import { callbackNames } from '../names/callbacks.js';
import { booleanWord, normalUrl } from '../setting-types.js';

const DEFAULT_ENDPOINT = 'http://localhost:4318';
const LANGFUSE = 'https://us.cloud.langfuse.com';
const DEFAULT_INTERVAL_MS = 60_000;

/**
 * Reads the settings. `langfuse_otel` gets only traces.
 * @param rest the keys of `litellm_settings` without a row.
 * @returns null: neither callback is configured, or `OTEL_SDK_DISABLED` is true.
 */
export function readTelemetry(
  rest: readonly (readonly [string, YamlNode])[],
  environment: Environment,
  findings: Findings,
): TelemetrySettings | null {
  const callbacks = callbackNames(rest);
  const hasOtel = callbacks.has('otel');
  if ((!hasOtel && !callbacks.has('langfuse_otel')) || booleanWord(environment['OTEL_SDK_DISABLED'] ?? '') === true)
    return null;
  const targets = (signal: 'TRACES' | 'METRICS') => (hasOtel ? otelTarget(signal, environment, findings) : []);
  if (hasOtel) warnOfProtocol(environment, findings);
  const interval = Number(environment['OTEL_METRIC_EXPORT_INTERVAL']);
  return {
    serviceName: environment['OTEL_SERVICE_NAME'] ?? 'rackless-model-proxy',
    traces: [...targets('TRACES'), ...(callbacks.has('langfuse_otel') ? langfuseTarget(environment, findings) : [])],
    metrics: targets('METRICS'),
    metricIntervalMs: interval > 0 ? interval : DEFAULT_INTERVAL_MS,
  };
}

function otelTarget(signal: 'TRACES' | 'METRICS', environment: Environment, findings: Findings): OtlpTarget[] {
  if (environment[`OTEL_${signal}_EXPORTER`] === 'none') return [];
  const own = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`;
  const common = ['OTEL_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].find((name) => isSet(environment[name]));
  const variable = isSet(environment[own]) ? own : common;
  const url = variable === undefined ? DEFAULT_ENDPOINT : addressOf(variable, environment, findings);
  if (url === undefined) return [];
  const headers = {
    ...headersOf(environment['OTEL_EXPORTER_OTLP_HEADERS']),
    ...headersOf(environment['OTEL_HEADERS']),
    ...headersOf(environment[`OTEL_EXPORTER_OTLP_${signal}_HEADERS`]),
  };
  // The address that both signals share may end with the path of traces, as in LiteLLM. Metrics need another path.
  const path = `/v1/${signal.toLowerCase()}`;
  const address = variable === own ? url : `${url.replace(/\/v1\/traces$/, '')}${path}`;
  return [{ url: address, headers, usesVariables: true }];
}

const isSet = (value: string | undefined) => value !== undefined && value !== '';

function addressOf(variable: string, environment: Environment, findings: Findings): string | undefined {
  const url = normalUrl(environment[variable] ?? '');
  if (url === undefined)
    findings.faultAt(ENVIRONMENT, `environment: ${variable} must be a URL such as http://localhost:4318`);
  return url;
}

/** Parses headers: `name=value,name=value`, with percent-encoded values. */
function headersOf(text = ''): Readonly<Record<string, string>> {
  const pairs = text.split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at === -1 ? [] : [[pair.slice(0, at).trim().toLowerCase(), decoded(pair.slice(at + 1).trim())] as const];
  });
  return Object.fromEntries(pairs.filter(([name]) => name !== ''));
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value; // Many configurations have values without percent-encoding.
  }
}

/** @see https://langfuse.com/integrations/native/opentelemetry */
function langfuseTarget(environment: Environment, findings: Findings): OtlpTarget[] {
  const [publicKey, secretKey] = [environment['LANGFUSE_PUBLIC_KEY'], environment['LANGFUSE_SECRET_KEY']];
  if (!isSet(publicKey) || !isSet(secretKey)) {
    findings.faultAt(
      ENVIRONMENT,
      'environment: the callback langfuse_otel needs LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY: set both',
    );
    return [];
  }
  const variable = ['LANGFUSE_OTEL_HOST', 'LANGFUSE_HOST'].find((name) => isSet(environment[name]));
  const host = variable === undefined ? LANGFUSE : addressOf(variable, environment, findings);
  if (host === undefined) return [];
  const authorization = `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString('base64')}`;
  const url = `${host.replace(/\/api\/public\/otel$/, '')}/api/public/otel/v1/traces`;
  return [{ url, headers: { authorization }, usesVariables: false }];
}

/** Values of LiteLLM's and of OpenTelemetry's variable that mean OTLP over HTTP. */
const httpProtocols: ReadonlySet<string> = new Set(['', 'otlp_http', 'http/protobuf']);

function warnOfProtocol(environment: Environment, findings: Findings): void {
  for (const variable of ['OTEL_EXPORTER', 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    const value = environment[variable] ?? '';
    if (!httpProtocols.has(value))
      findings.warnAt(ENVIRONMENT, `environment: ${variable} is ${value}, but only OTLP over HTTP is implemented`);
  }
}
