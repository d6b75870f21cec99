/** Renders errors in the form of the API that the client uses. */
import type { ProxyError } from './proxy-error.js';

/** An API that clients use. */
export type Api = 'openai' | 'anthropic';

/** Anthropic's types of errors, by status. @see https://platform.claude.com/docs/en/api/errors */
const anthropicTypes: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

/** Returns the body of an error as JSON. @param requestId the id of the request in the proxy's log. */
export function errorBody(error: ProxyError, api: Api, requestId: string): string {
  if (api === 'openai') return JSON.stringify(error.body);
  const { status, message } = error;
  const type = anthropicTypes.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return JSON.stringify({ type: 'error', error: { type, message }, request_id: requestId });
}
