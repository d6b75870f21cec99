/**
 * Anthropic's models on Vertex AI. The path has the model, and the body has the version of the API.
 * @see https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai
 */
import { anthropicApi, anthropicChat } from '../anthropic/anthropic.js';
import type { Dialect, DialectEndpoint } from '../dialect.js';
import { shortIds } from '../messages/short-ids.js';
import { segmentOf, type ProviderTarget } from '../target.js';

const VERSION = Buffer.from('"vertex-2023-10-16"');

const claudePath = (model: string, streams: boolean): string =>
  `publishers/anthropic/models/${segmentOf(model)}:${streams ? 'streamRawPredict' : 'rawPredict'}`;

const chat: DialectEndpoint = {
  ...anthropicChat,
  path: ({ model, streams }) => claudePath(model, streams),
  request: (members, call) => {
    const { model: _model, ...body } = Object.fromEntries(anthropicChat.request(members, call));
    return new Map(Object.entries({ anthropic_version: VERSION, ...body }));
  },
};

const endpoints: Dialect['endpoints'] = new Map([...anthropicApi.dialect.endpoints, ['chat/completions', chat]]);

/** The part of the target that is the same for all models of Anthropic. */
export const claudeTarget: Pick<ProviderTarget, 'api' | 'pathOf'> = {
  api: {
    ...anthropicApi,
    dialect: { ...anthropicApi.dialect, endpoints },
    // The access token authenticates requests, and the body has the version.
    headers: () => ({}),
    // Changes requests of clients with Anthropic's form. A request that counts tokens keeps the model in its body.
    translate: (endpoint, received) => {
      const shortened = shortIds.translate(endpoint, received);
      const members = new Map<string, Buffer | null>([...shortened, ['anthropic_version', VERSION]]);
      if (endpoint === 'messages') members.set('model', null);
      return members;
    },
    translationTriggers: { members: ['messages'], innerKeys: [] },
  },
  pathOf: (path, { model, streams }) =>
    path === 'messages/count_tokens' ? claudePath('count-tokens', false) : claudePath(model, streams),
};
