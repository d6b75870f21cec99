/** What may stand behind a `?` (DSP0266, query parameters). */
import { RedfishError } from './errors.js';
import { message } from './messages.js';

/**
 * Checks the query. Parameters that begin with `$` are the protocol's: one that is not implemented must not be ignored, as the
 * client would take the whole for the part that it asked for. All others are ignored.
 * @param query without its `?`.
 * @throws {RedfishError} 501 QueryParameterUnsupported, one message for each.
 */
export function checkQuery(query: string): void {
  const unsupported = [...new Set(new URLSearchParams(query).keys())].filter((name) => name.startsWith('$'));
  if (unsupported.length === 0) return;
  throw new RedfishError(
    501,
    unsupported.map((name) => message('QueryParameterUnsupported', name)),
  );
}
