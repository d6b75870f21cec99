/**
 * Remembers which deployments fail. The state survives reloads, and lives as long as the process.
 */

/** The results of requests, by deployment id. */
export interface DeploymentHealth {
  succeeded(id: string): void;
  failed(id: string): void;
  /** Returns whether the last request failed. */
  isSuspect(id: string): boolean;
}

/** Creates the state without results. */
export function createDeploymentHealth(): DeploymentHealth {
  const suspects = new Set<string>();
  return {
    succeeded: (id) => {
      if (suspects.size > 0) suspects.delete(id);
    },
    failed: (id) => void suspects.add(id),
    isSuspect: (id) => suspects.has(id),
  };
}
