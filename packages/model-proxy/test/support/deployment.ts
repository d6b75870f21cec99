/** Makes deployments for tests. */
import type { Deployment, Timeouts } from '../../src/providers/deployment.js';
import { findProvider } from '../../src/providers/index.js';
import type { StrategySettings } from '../../src/settings.js';

/** No timeouts. */
export const UNBOUNDED: Timeouts = { connectMs: null, firstByteMs: null, idleMs: null, totalMs: null };

/** Makes a deployment of `hosted_vllm` with default settings except the given ones. */
export function makeDeployment(given: Partial<Deployment> = {}): Deployment {
  return {
    id: 'deployment-1',
    modelName: 'public',
    provider: findProvider('hosted_vllm'),
    upstreamModel: 'served',
    apiBase: 'https://upstream.test/v1',
    apiKey: null,
    tls: { verify: true, clientCertificate: null },
    timeouts: UNBOUNDED,
    streamTimeouts: UNBOUNDED,
    dropParams: false,
    additionalDropParams: [],
    allowedOpenaiParams: [],
    defaults: {},
    extraBody: {},
    extraHeaders: {},
    modelInfo: {},
    rpm: null,
    tpm: null,
    maxParallelRequests: null,
    order: null,
    retries: null,
    cooldownMs: null,
    useInPassThrough: false,
    weight: null,
    ...given,
  };
}

/** The strategy of a configuration without one. */
export const SIMPLE_SHUFFLE: StrategySettings = {
  name: 'simple-shuffle',
  ttlMs: 3_600_000,
  latencyBuffer: 0,
  affinity: new Set(),
};
