/** Finds the translation of a request to a provider with a dialect. */
import { unsupportedEndpoint } from '../errors/model.js';
import type { DialectCall, DialectEndpoint } from './dialect.js';
import type { Provider } from './provider.js';

/** A request with the endpoint that translates it. */
export interface TranslatedCall {
  readonly endpoint: DialectEndpoint;
  readonly call: DialectCall;
}

/**
 * Returns the translation of a request.
 * @param path OpenAI's path below `/v1/`: `chat/completions`.
 * @param model the upstream's name.
 * @param streams whether the client asks for events.
 * @returns null if the bytes pass through unchanged.
 * @throws {ProxyError} 400: the dialect does not have the endpoint.
 */
export function translationOf(
  { name, dialect }: Provider,
  path: string,
  model: string,
  streams: boolean,
): TranslatedCall | null {
  if (dialect === undefined) return null;
  const endpoint = dialect.endpoints.get(path);
  if (endpoint === undefined) throw unsupportedEndpoint(path, name);
  return endpoint === 'unchanged' ? null : { endpoint, call: { endpoint: path, model, streams } };
}
