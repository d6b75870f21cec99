/**
 * Limits the requests per minute of deployments (`rpm`). This process counts them, as LiteLLM does
 * without Redis.
 */
import { deploymentLimited } from '../errors/model.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { Deployment } from '../providers/deployment.js';

type Limited = Pick<Deployment, 'id' | 'rpm'>;

/** Request counts of the current minute. */
export interface Limits {
  /** Returns whether a deployment may receive another request in this minute. */
  hasRoom(deployment: Limited): boolean;
  /**
   * Counts a request.
   * @returns an error with status 429 if the deployment is at its limit: do not send the request.
   */
  admit(deployment: Limited): ProxyError | undefined;
}

const MINUTE_MS = 60_000;

/**
 * Creates the counters. Keep them over a reload: new counters would grant each deployment a new
 * quota.
 * @param now returns the time in milliseconds.
 */
export function createLimits(now: () => number = Date.now): Limits {
  // One entry for each deployment with a limit, by id.
  const counts = new Map<string, { minute: number; count: number }>();
  const used = (id: string): number => {
    const entry = counts.get(id);
    return entry?.minute === Math.floor(now() / MINUTE_MS) ? entry.count : 0;
  };
  return {
    hasRoom: ({ id, rpm }) => rpm === null || used(id) < rpm,
    admit({ id, rpm }) {
      if (rpm === null) return undefined;
      const count = used(id);
      if (count >= rpm) return deploymentLimited(rpm, Math.ceil((MINUTE_MS - (now() % MINUTE_MS)) / 1000));
      counts.set(id, { minute: Math.floor(now() / MINUTE_MS), count: count + 1 });
      return undefined;
    },
  };
}
