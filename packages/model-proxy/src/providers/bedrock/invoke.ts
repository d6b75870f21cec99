/**
 * Bedrock's InvokeModel, whose bodies have the form of the model: that of Anthropic, or that of OpenAI
 * for imported models.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/invoke-imported-model.html
 */
import { z } from 'zod';
import { openaiAnswer } from '../anthropic/answer.js';
import { ChatStream } from '../anthropic/chat-stream.js';
import { anthropicRequest } from '../anthropic/request.js';
import { recordOf } from '../anthropic/values.js';
import type { DialectCall, DialectEndpoint, DialectEvents } from '../dialect.js';
import { passedAnswer, PassedChunks } from '../openai/passed-chat.js';
import { supportedParameters, unchecked } from '../parameters.js';
import type { RequestMembers } from '../request-members.js';
import { segmentOf, type ModelApi } from '../target.js';
import { bedrockError } from './bedrock-error.js';
import { InvokeStream } from './invoke-stream.js';

const VERSION = Buffer.from('"bedrock-2023-05-31"');

/** Returns the path, which names the model and whether the answer is a stream. */
const pathOf = ({ model, streams }: Pick<DialectCall, 'model' | 'streams'>): string =>
  `model/${segmentOf(model)}/${streams ? 'invoke-with-response-stream' : 'invoke'}`;

/** Returns the members of a request, without those with the given names. */
function without(members: ReadonlyMap<string, Buffer>, ...names: readonly string[]): Map<string, Buffer> {
  return new Map([...members].filter(([name]) => !names.includes(name)));
}

const claude: DialectEndpoint = {
  path: pathOf,
  request: (members, call) =>
    new Map([['anthropic_version', VERSION], ...without(anthropicRequest(members, call), 'model', 'stream')]),
  understandsThinking: () => true,
  answer: openaiAnswer,
  events: {
    mediaType: 'application/vnd.amazon.eventstream',
    open: ({ model }) => new InvokeStream(new ChatStream(model)),
  },
};

const allMembers = (members: RequestMembers): Map<string, Buffer> =>
  new Map(members.names.flatMap((name) => [[name, members.bytes(name)] as const]).filter(isPresent));

const isPresent = (member: readonly [string, Buffer | undefined]): member is [string, Buffer] =>
  member[1] !== undefined;

const openaiChat: DialectEndpoint = {
  path: pathOf,
  request: (members) => without(allMembers(members), 'model', 'stream', 'stream_options'),
  answer: passedAnswer,
  events: {
    mediaType: 'application/vnd.amazon.eventstream',
    open: () => new InvokeStream(new MeasuredChunks()),
  },
};

const METRICS = 'amazon-bedrock-invocationMetrics';
const metrics = z.object({ inputTokenCount: z.number(), outputTokenCount: z.number() });

/** Chunks of OpenAI's form. Bedrock adds its own count of the tokens to the last chunk. */
class MeasuredChunks extends PassedChunks {
  override read(values: readonly unknown[]): DialectEvents {
    return super.read(values.map(withUsage));
  }
}

function withUsage(value: unknown): unknown {
  const { [METRICS]: counted, ...chunk } = recordOf(value) ?? {};
  const { data } = metrics.safeParse(counted);
  if (data === undefined || chunk['usage'] !== undefined) return counted === undefined ? value : chunk;
  const { inputTokenCount: prompt, outputTokenCount: completion } = data;
  return {
    ...chunk,
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  };
}

function chatApi(endpoint: DialectEndpoint, provider: string): ModelApi {
  const supported = supportedParameters(provider, 'chat/completions');
  return {
    dialect: { endpoints: new Map([['chat/completions', endpoint]]), error: bedrockError },
    supportedParameters: (path) => (path === 'chat/completions' ? supported : unchecked),
  };
}

/** Models of Anthropic. */
export const claudeInvokeApi: ModelApi = chatApi(claude, 'anthropic');

/** OpenAI's form, which Bedrock has for models that were imported since November 2025. */
export const openaiInvokeApi: ModelApi = chatApi(openaiChat, 'openai');
