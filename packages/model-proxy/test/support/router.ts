/** Creates routers for tests. */
import { runAtOnce } from '@rackless/daemon/process/slices.js';
import { createRouter } from '../../src/routing/create-router.js';
import type { Router } from '../../src/routing/router.js';

/** Creates a router without a pause. */
export const createRouterNow = (...inputs: Parameters<typeof createRouter>): Router =>
  runAtOnce(createRouter(...inputs));
