/** Stores the options in the body of a request that concern reports of usage. */
import { clientTagsForbidden } from '../errors/model.js';
import type { Exchange } from './exchange.js';
import type { RequestBody } from './request/request-body.js';

/** Maximum length of a user in reports, in characters. */
const MAX_USER_LENGTH = 256;

/**
 * Stores the tags and the user of a request, and whether its answer omits the usage. Stores the user only for
 * callbacks, the rest only for callbacks or a store.
 * @throws {ProxyError} 400: the client has set tags, and the configuration forbids it.
 */
export function storeReportOptions(exchange: Exchange, body: RequestBody): void {
  const { keys, reports, settings } = exchange.proxy;
  const { countsUsage = false, rejectClientTags = false, alwaysIncludeStreamUsage } = settings;
  if (reports !== null) {
    const user = body.parameter('user');
    exchange.endUser = typeof user === 'string' ? user.slice(0, MAX_USER_LENGTH) : null;
  }
  if (keys === null && reports === null && !rejectClientTags) return;
  const { tags } = body;
  if (rejectClientTags && tags.length > 0) throw clientTagsForbidden();
  exchange.tags = tags;
  exchange.hidesUsage = countsUsage && !alwaysIncludeStreamUsage && !body.asksForUsage;
}
