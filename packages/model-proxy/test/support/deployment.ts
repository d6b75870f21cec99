/** A deployment for tests of what is done with one. */
import type { Deployment, Timeouts } from '../../src/providers/deployment.js';
import { findProvider } from '../../src/providers/index.js';

/** No bound at all. */
export const UNBOUNDED: Timeouts = { connectMs: null, firstByteMs: null, idleMs: null, totalMs: null };

/** One of `hosted_vllm` with nothing special about it but what is given. */
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
    useInPassThrough: false,
    weight: 1,
    ...given,
  };
}
