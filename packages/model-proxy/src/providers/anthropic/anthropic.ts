/**
 * Anthropic, and servers with its Messages API.
 * @see https://platform.claude.com/docs/en/api/overview
 */
import type { Dialect, DialectEndpoint } from '../dialect.js';
import { shortIds } from '../messages/short-ids.js';
import { supportedParameters, unchecked } from '../parameters.js';
import type { Provider } from '../provider.js';
import type { ModelApi, TargetOf } from '../target.js';
import { openaiAnswer } from './answer.js';
import { ChatStream } from './chat-stream.js';
import { errorIn, errorWithStatus } from './errors.js';
import { anthropicRequest } from './request.js';

/** Chat. @see https://platform.claude.com/docs/en/api/messages */
export const anthropicChat: DialectEndpoint<Map<string, Buffer>> = {
  path: () => 'messages',
  request: anthropicRequest,
  answer: openaiAnswer,
  events: { mediaType: 'text/event-stream', open: ({ model }) => new ChatStream(model) },
};

const dialect: Dialect = {
  endpoints: new Map<string, DialectEndpoint | 'unchanged'>([
    ['chat/completions', anthropicChat],
    ['messages', 'unchanged'],
    ['messages/count_tokens', 'unchanged'],
  ]),
  // An error event has no status, so the proxy passes 500. The type of the error then gives the status.
  // A real 500 of Anthropic has the type `api_error`, which means 500 too.
  error: (status, body) => (status === 500 ? errorWithStatus(body) : errorIn(body)),
};

/**
 * Returns an address without `/v1` and `/messages` at its end. As in LiteLLM, a configured address may
 * end with `/v1`, `/messages` or both.
 */
export const withoutMessages = (apiBase: string): string => apiBase.replace(/(?:\/v1)?(?:\/messages)?$/, '');

const supported = supportedParameters('anthropic', 'chat/completions');
/** Anthropic's API, which other vendors also offer for Anthropic's models. */
export const anthropicApi = {
  dialect,
  supportedParameters: (endpoint: string) => (endpoint === 'chat/completions' ? supported : unchecked),
  // Anthropic rejects requests without a version.
  headers: (apiKey: string | null) => ({
    'anthropic-version': '2023-06-01',
    ...(apiKey === null ? {} : { 'x-api-key': apiKey }),
  }),
} satisfies ModelApi;

/**
 * Anthropic's API with models of Anthropic, for which the proxy shortens ids of calls that contain Gemini's signatures.
 * Servers with models of other vendors may need these signatures.
 */
export const claudeApi: ModelApi = { ...anthropicApi, ...shortIds };

const DEFAULT_BASE = 'https://api.anthropic.com/v1';
const ownHost = /^https:\/\/api\.anthropic\.com(?:\/|$)/;

const target: TargetOf = ({ apiBase, query }) => ({
  apiBase: apiBase === null ? DEFAULT_BASE : `${withoutMessages(apiBase)}/v1`,
  query,
  ...(apiBase === null || ownHost.test(apiBase) ? { api: claudeApi } : {}),
});

/** Anthropic. */
export const anthropic: Provider = {
  name: 'anthropic',
  exceptionName: 'AnthropicException',
  apiKeyEnvironment: ['ANTHROPIC_API_KEY'],
  apiBaseEnvironment: ['ANTHROPIC_API_BASE', 'ANTHROPIC_BASE_URL'],
  defaultApiBase: DEFAULT_BASE,
  ...anthropicApi,
  targetOf: target,
};
