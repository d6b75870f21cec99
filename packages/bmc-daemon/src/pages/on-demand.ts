/** Loads the pages with their first request, because Express makes each start slower. */
import type { createPages } from './routes.js';

type Pages = ReturnType<typeof createPages>;

/**
 * Creates the handler of all pages. It rejects if the pages cannot be loaded. The next request then loads them
 * again.
 */
export function pagesOnDemand(options: Parameters<typeof createPages>[0]): Pages {
  let pages: Promise<Pages> | undefined;
  const load = async (): Promise<Pages> => {
    try {
      return (await import('./routes.js')).createPages(options);
    } catch (error) {
      pages = undefined;
      throw error;
    }
  };
  return async (request, response, requestId) => {
    const answer = await (pages ??= load());
    // After the end of a connection, no event ends the request.
    if (response.destroyed) return { route: 'unmatched', status: response.statusCode, user: null };
    return answer(request, response, requestId);
  };
}
