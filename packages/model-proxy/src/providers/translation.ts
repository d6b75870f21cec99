/** Finds the translation of a request to a provider whose API is not that of the client. */
import { unsupportedEndpoint } from '../errors/model.js';
import type { Deployment } from './deployment.js';
import type { DialectCall, DialectEndpoint } from './dialect.js';
import { CHAT, messagesAsChat } from './messages/messages-as-chat.js';
import type { Provider } from './provider.js';

/** A request with the endpoint that translates it. */
export interface TranslatedCall {
  readonly endpoint: DialectEndpoint;
  readonly call: DialectCall;
  /**
   * If `endpoint` makes a request for chat: the translation of that request; null: it needs none.
   * Absent: the request that `endpoint` makes goes upstream.
   */
  readonly chat?: TranslatedCall | null;
}

/** The members of a deployment that decide its translation. */
type TranslatingDeployment = Pick<Deployment, 'provider' | 'allowedOpenaiParams'>;

/** Paths of Anthropic's API. */
const MESSAGES = 'messages';
const COUNT_TOKENS = 'messages/count_tokens';

/**
 * Returns the translation of a request.
 * @param path the client's path below `/v1/`, such as `chat/completions` or `messages`.
 * @param model the upstream's name.
 * @param streams whether the client requests a stream.
 * @returns null: the request needs no translation.
 * @throws {ProxyError} 400: the dialect does not have the endpoint.
 */
export function translationOf(
  deployment: TranslatingDeployment,
  path: string,
  model: string,
  streams: boolean,
): TranslatedCall | null {
  const { provider } = deployment;
  const { name, dialect } = provider;
  if (path === MESSAGES && !isNative(provider, path)) return messagesTranslation(deployment, model, streams);
  if (dialect === undefined) return null;
  const endpoint = dialect.endpoints.get(path);
  if (endpoint === undefined) throw unsupportedEndpoint(path, name);
  return endpoint === 'unchanged' ? null : { endpoint, call: { endpoint: path, model, streams } };
}

/**
 * Returns whether the endpoint counts tokens and the upstream does not serve it, so that the proxy must estimate
 * them.
 */
export function needsTokenEstimate(provider: Provider, path: string): boolean {
  return path === COUNT_TOKENS && !isNative(provider, path);
}

const isNative = ({ dialect, anthropicEndpoints }: Provider, path: string): boolean =>
  dialect?.endpoints.has(path) === true || anthropicEndpoints?.includes(path) === true;

/** Translates a request for a message to chat, and chat to the dialect of the provider. */
function messagesTranslation(deployment: TranslatingDeployment, model: string, streams: boolean): TranslatedCall {
  const { provider, allowedOpenaiParams } = deployment;
  const chat = translationOf(deployment, CHAT, model, streams);
  const supported = new Set([...provider.supportedParameters(CHAT, model), ...allowedOpenaiParams]);
  const endpoint = messagesAsChat(provider.name, supported, chat);
  return { endpoint, call: { endpoint: MESSAGES, model, streams }, chat };
}
