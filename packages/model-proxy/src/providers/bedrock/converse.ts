/**
 * Bedrock's Converse API, which has the same form for all models.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { openaiAnswer } from '../anthropic/answer.js';
import { recordsOf } from '../anthropic/values.js';
import type { Dialect, DialectEndpoint } from '../dialect.js';
import { listOf } from '../messages/list-of.js';
import { supportedParameters, unchecked } from '../parameters.js';
import { segmentOf, type ModelApi } from '../target.js';
import { bedrockError } from './bedrock-error.js';
import { anthropicBlock } from './converse-blocks.js';
import { converseRequest, isClaudeModel } from './converse-request.js';
import { ConverseStream } from './converse-stream.js';
import { anthropicUsage, stopReason } from './converse-usage.js';

const answered = z.object({
  output: z.object({ message: z.object({ content: listOf(z.looseObject({})) }) }),
  stopReason: z.string(),
  usage: z.unknown().optional(),
});

/** Chat. A model's name may be an ARN with slashes. */
const chat: DialectEndpoint = {
  path: ({ model, streams }) => `model/${segmentOf(model)}/${streams ? 'converse-stream' : 'converse'}`,
  request: converseRequest,
  understandsThinking: isClaudeModel,
  answer: (value, call) => {
    const { output, stopReason: reason, usage } = answered.parse(value);
    const content = recordsOf(output.message.content).map(anthropicBlock);
    const message = {
      id: `chatcmpl-${randomUUID()}`,
      content: content.filter((block) => block !== undefined),
      stop_reason: stopReason(reason),
      usage: anthropicUsage(usage),
    };
    return openaiAnswer(message, call);
  },
  events: { mediaType: 'application/vnd.amazon.eventstream', open: ({ model }) => new ConverseStream(model) },
};

const dialect: Dialect = {
  endpoints: new Map([['chat/completions', chat]]),
  error: bedrockError,
};

const supported = supportedParameters('bedrock_converse', 'chat/completions');
/** The API of all models with Converse. */
export const converseApi: ModelApi = {
  dialect,
  supportedParameters: (endpoint) => (endpoint === 'chat/completions' ? supported : unchecked),
};
