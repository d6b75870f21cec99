/** Decides whether the proxy needs the usage of a stream, and stores the tags and the user of a request for reports. */
import { clientTagsForbidden } from '../errors/model.js';
import type { Deployment } from '../providers/deployment.js';
import type { ProxySettings } from '../settings.js';
import type { Exchange } from './exchange.js';
import type { RequestBody } from './request/request-body.js';

/** Maximum length of a user in reports, in characters. */
const MAX_USER_LENGTH = 256;

/** Returns whether the proxy needs the usage of requests to a deployment: for reports, keys, or the limit `tpm`. */
export const needsUsage = ({ countsUsage }: ProxySettings, { tpm }: Deployment): boolean =>
  countsUsage === true || tpm !== null;

/**
 * Returns whether the stream of a deployment must omit the event with the usage, because only the proxy has requested
 * it.
 */
export function hidesUsage(settings: ProxySettings, deployment: Deployment, body: RequestBody): boolean {
  if (!needsUsage(settings, deployment) || settings.alwaysIncludeStreamUsage || !body.streams) return false;
  return !body.asksForUsage && !requestsUsage(deployment);
}

/** Returns whether the configuration of a deployment requests the usage for its clients. */
function requestsUsage({ defaults, extraBody }: Deployment): boolean {
  const options = extraBody['stream_options'] ?? defaults['stream_options'];
  return (
    typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage === true
  );
}

/**
 * Stores the tags and the user of a request. Stores the user only for callbacks, the tags only for callbacks or a
 * store.
 * @throws {ProxyError} 400: the client has set tags, and the configuration forbids it.
 */
export function storeReportOptions(exchange: Exchange, body: RequestBody): void {
  const { keys, reports, settings } = exchange.proxy;
  const { rejectClientTags = false } = settings;
  if (reports !== null) {
    const user = body.parameter('user');
    exchange.endUser = typeof user === 'string' ? user.slice(0, MAX_USER_LENGTH) : null;
  }
  if (keys === null && reports === null && !rejectClientTags) return;
  const { tags } = body;
  if (rejectClientTags && tags.length > 0) throw clientTagsForbidden();
  exchange.tags = tags;
}
