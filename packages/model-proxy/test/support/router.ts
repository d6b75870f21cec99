/** Creates routers for tests. */
import { runAtOnce } from '@rackless/daemon/process/slices.js';
import { createRouter } from '../../src/routing/create-router.js';
import type { Router } from '../../src/routing/router.js';
import { createRoutingState, type RoutingState } from '../../src/routing/routing-state.js';

/**
 * Creates a router at once, without pauses for other work.
 * @param state missing members are those of a new process.
 */
export function createRouterNow(
  settings: Parameters<typeof createRouter>[0],
  state: Partial<RoutingState> = {},
  random?: () => number,
): Router {
  return runAtOnce(
    createRouter(settings, { ...createRoutingState({ warn: () => undefined }, null), ...state }, random),
  );
}
