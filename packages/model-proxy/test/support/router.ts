/** Creates routers for tests. */
import { runAtOnce } from '@rackless/daemon/process/slices.js';
import { createRouter } from '../../src/routing/create-router.js';
import type { Router } from '../../src/routing/router.js';

/** Creates a router at once, without pauses for other work. */
export const createRouterNow = (...inputs: Parameters<typeof createRouter>): Router =>
  runAtOnce(createRouter(...inputs));
