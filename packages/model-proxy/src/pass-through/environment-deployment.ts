/** OpenAI itself, where no model of it is configured but the environment holds its key: LiteLLM's `/openai/…` works with that alone. */
import { defaults } from '../config/defaults.js';
import type { Deployment } from '../providers/deployment.js';
import { findProvider } from '../providers/index.js';
import type { Environment } from '../settings.js';

/** @returns null: the environment has no key. */
export function environmentDeployment(environment: Environment): Deployment | null {
  const provider = findProvider('openai');
  const first = (names: readonly string[]) =>
    names.map((name) => environment[name]?.trim() ?? '').find((text) => text !== '');
  const apiKey = first(provider.apiKeyEnvironment);
  const apiBase = (first(provider.apiBaseEnvironment) ?? provider.defaultApiBase ?? '').replace(/\/+$/, '');
  if (apiKey === undefined || !URL.canParse(apiBase)) return null;
  const timeouts = {
    connectMs: defaults.connectTimeoutSeconds * 1000,
    firstByteMs: null,
    idleMs: defaults.idleTimeoutSeconds * 1000,
    totalMs: defaults.requestTimeoutSeconds * 1000,
  };
  return {
    id: 'environment',
    modelName: 'openai',
    provider,
    upstreamModel: '*',
    apiBase,
    apiKey,
    tls: { verify: true, clientCertificate: null },
    timeouts,
    streamTimeouts: { ...timeouts, firstByteMs: timeouts.totalMs, totalMs: null },
    dropParams: false,
    additionalDropParams: [],
    allowedOpenaiParams: [],
    defaults: {},
    extraBody: {},
    extraHeaders: {},
    modelInfo: {},
    useInPassThrough: true,
    weight: defaults.weight,
  };
}
