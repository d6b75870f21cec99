/** Loads the pages with their first request, because loading Express at the start would make each start slower. */
import { errorCode } from '@rackless/daemon/error-code.js';
import { send, textAnswer } from '../redfish/answer.js';
import type { createPages } from './routes.js';

type Pages = ReturnType<typeof createPages>;

/** The files of the pages are missing or have changed, because another version of the package has replaced them. */
class ReplacedFilesError extends Error {
  override readonly name = 'ReplacedFilesError';
}

const RESTART = 'the package has changed since the start of the daemon, so restart the daemon';

/**
 * Creates the handler of all pages. If other files have replaced those of the pages, it answers 503. It rejects if
 * the pages cannot be loaded for another reason. In both cases, the next request loads them again.
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
    let answer: Pages;
    try {
      answer = await (pages ??= load());
    } catch (error) {
      // A SyntaxError reports that a file does not export what another version of a file imports.
      if (errorCode(error) !== 'ERR_MODULE_NOT_FOUND' && !(error instanceof SyntaxError)) throw error;
      send(response, textAnswer(503, `bmc-daemon: ${RESTART}\n`, 'text/plain; charset=utf-8'), requestId);
      const replaced = new ReplacedFilesError(`loading the pages: ${RESTART}`, { cause: error });
      return { route: 'unmatched', status: 503, user: null, error: replaced };
    }
    // If the connection ended during the load, no `close` event follows, so the handler would never resolve.
    if (response.destroyed) return { route: 'unmatched', status: response.statusCode, user: null };
    return answer(request, response, requestId);
  };
}
