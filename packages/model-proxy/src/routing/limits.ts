/**
 * Counts and limits what deployments get: requests per minute (`rpm`), requests at the same time
 * (`max_parallel_requests`), and tokens per minute (`tpm`). Each process counts by itself, as LiteLLM does
 * without Redis. With `--num_workers`, the workers divide the limits.
 */
import { deploymentBusy, deploymentLimited } from '../errors/model.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { Deployment } from '../providers/deployment.js';
import { wholeLimit, type LimitPart } from './siblings.js';

type Limited = Pick<Deployment, 'id' | 'rpm' | 'tpm' | 'maxParallelRequests'>;

/** Counts the use of deployments, and rejects requests beyond their limits. */
export interface Limits {
  /** Returns whether a deployment may receive another request now. */
  hasRoom(deployment: Limited): boolean;
  /**
   * Counts a request. Each counted request needs a {@link release}.
   * @returns an error with status 429 if the deployment is at its limit: do not send the request.
   */
  admit(deployment: Limited): ProxyError | undefined;
  /** Notes the end of a request. */
  release(deployment: Limited): void;
  /** Counts the tokens of a request. */
  addTokens(deployment: Limited, tokens: number): void;
  /** Returns the use of a deployment. */
  useOf(id: string): Use;
  /** Returns the number of requests of a deployment that have not ended. */
  inFlightOf(id: string): number;
}

/** The use of a deployment. */
interface Use {
  /** Number of requests that have not ended. */
  readonly inFlight: number;
  /** Requests and tokens of the current minute. */
  readonly requests: number;
  readonly tokens: number;
}

const MINUTE_MS = 60_000;
const NO_USE: Use = { inFlight: 0, requests: 0, tokens: 0 };

interface Counts extends Use {
  minute: number;
  inFlight: number;
  requests: number;
  tokens: number;
}

/**
 * Creates the counters. The caller keeps them when the configuration is reloaded: new counters would grant
 * each deployment a new quota.
 * @param now returns the time in milliseconds.
 * @param partOf returns the part of a limit that this process may use.
 */
export function createLimits(now: () => number = Date.now, partOf: LimitPart = wholeLimit): Limits {
  const counts = new Map<string, Counts>();
  /** Returns the counts of the current minute; undefined: the deployment has no request yet. */
  const current = (id: string): Counts | undefined => {
    const entry = counts.get(id);
    if (entry === undefined) return undefined;
    const minute = Math.floor(now() / MINUTE_MS);
    if (entry.minute !== minute) Object.assign(entry, { minute, requests: 0, tokens: 0 });
    return entry;
  };
  const create = (id: string): Counts => {
    const entry = { minute: Math.floor(now() / MINUTE_MS), inFlight: 0, requests: 0, tokens: 0 };
    counts.set(id, entry);
    return entry;
  };
  const restSeconds = () => Math.ceil((MINUTE_MS - (now() % MINUTE_MS)) / 1000);
  const faultOf = ({ rpm, tpm, maxParallelRequests }: Limited, use: Use): ProxyError | undefined => {
    if (rpm !== null && use.requests >= partOf(rpm)) return deploymentLimited('RPM', rpm, restSeconds());
    if (tpm !== null && use.tokens >= partOf(tpm)) return deploymentLimited('TPM', tpm, restSeconds());
    if (maxParallelRequests !== null && use.inFlight >= partOf(maxParallelRequests))
      return deploymentBusy(maxParallelRequests);
    return undefined;
  };
  return {
    hasRoom(deployment) {
      const { id, rpm, tpm, maxParallelRequests } = deployment;
      if (rpm === null && tpm === null && maxParallelRequests === null) return true;
      return faultOf(deployment, current(id) ?? NO_USE) === undefined;
    },
    admit(deployment) {
      const entry = current(deployment.id) ?? create(deployment.id);
      const fault = faultOf(deployment, entry);
      if (fault !== undefined) return fault;
      entry.requests += 1;
      entry.inFlight += 1;
      return undefined;
    },
    release({ id }) {
      const entry = counts.get(id);
      if (entry !== undefined) entry.inFlight -= 1;
    },
    addTokens({ id }, tokens) {
      const entry = current(id);
      if (entry !== undefined) entry.tokens += tokens;
    },
    useOf: (id) => current(id) ?? NO_USE,
    inFlightOf: (id) => counts.get(id)?.inFlight ?? 0,
  };
}
