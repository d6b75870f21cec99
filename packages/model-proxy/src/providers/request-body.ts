/**
 * Prepares request bodies for an upstream. Replaces `model`, and drops, adds and renames
 * parameters. Other bytes stay unchanged, and only changed members are parsed.
 *
 * The order follows LiteLLM (`get_optional_params`):
 * - Removes the parameters for the proxy.
 * - Applies `additional_drop_params`.
 * - Adds the deployment's defaults.
 * - Drops or rejects OpenAI parameters that the provider does not support.
 * - Renames and rewrites members for the provider, or translates the request to the provider's dialect.
 * - Merges `extra_body`, which has priority.
 * - Requests the usage of a stream, if an option requires it. With a dialect, this comes before the translation.
 */
import type { JsonObject } from '../json/object.js';
import { JsonObjectScanner } from '../json/scanner.js';
import { membersText } from '../json/splice.js';
import type { RequestBodyOptions } from './deployment-plan.js';
import { DialectRequest } from './dialect.js';
import { CHAT } from './messages/messages-as-chat.js';
import { OutgoingRequest } from './outgoing-request.js';
import { renamedBody } from './renamed-body.js';
import type { TranslatedCall } from './translation.js';

/**
 * Prepares the body for the upstream.
 * @param object the verified request. The caller has rejected a second `model`. Other members may
 *   occur twice.
 * @returns views of the received chunks, and buffers with changes; or the request of a dialect.
 * @throws {ProxyError} 400: a parameter is not supported and must not be dropped, a parameter for the
 *   proxy is invalid, or the dialect cannot express the request.
 */
export function prepareRequestBody(object: JsonObject, options: RequestBodyOptions): Buffer[] | DialectRequest {
  const { translated } = options;
  if (translated?.chat !== undefined) return chatBody(object, options, translated, translated.chat);
  if (translated === null) {
    const renamed = renamedBody(object, options);
    if (renamed !== undefined) return renamed;
  }
  const request = new OutgoingRequest(object, options);
  request.consume();
  request.applyDropPaths();
  request.addDefaults();
  request.removeUnsupported();
  if (translated !== null) {
    request.includeStreamUsage();
    return request.finishAs(translated);
  }
  request.translate();
  request.mergeExtraBody();
  request.includeStreamUsage();
  return request.finish();
}

/** Translates a request to chat, and prepares it like a client's request for chat. */
function chatBody(
  object: JsonObject,
  options: RequestBodyOptions,
  { endpoint, call }: TranslatedCall,
  chat: TranslatedCall | null,
): Buffer[] | DialectRequest {
  const scanner = new JsonObjectScanner();
  const request = endpoint.request(new OutgoingRequest(object, options), call);
  if (request instanceof DialectRequest) return request;
  for (const piece of membersText(request)) scanner.push(piece);
  return prepareRequestBody(scanner.finish(), { ...options, endpoint: { path: CHAT }, translated: chat });
}
