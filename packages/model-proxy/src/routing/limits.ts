/** Limits the requests of deployments (`rpm`): counted in this process, by the minute, as LiteLLM counts without Redis. */
import { deploymentLimited, type ProxyError } from '../errors.js';
import type { Deployment } from '../providers/deployment.js';

type Limited = Pick<Deployment, 'id' | 'rpm'>;

export interface Limits {
  /** Whether a deployment may get one more request in this minute. */
  hasRoom(deployment: Limited): boolean;
  /** Counts a request. @returns 429: the deployment has no room, and the request must not be sent. */
  admit(deployment: Limited): ProxyError | undefined;
}

const MINUTE_MS = 60_000;

/** Outlives a reload: a changed file must not grant the minute's requests again. @param now in milliseconds. */
export function createLimits(now: () => number = Date.now): Limits {
  // One entry for each deployment that has a limit.
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
