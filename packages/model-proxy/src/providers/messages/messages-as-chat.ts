/**
 * Anthropic's Messages API for upstreams that have another API. The proxy sends a request for chat, and
 * translates the answer into a message.
 */
import { recordOf } from '../anthropic/values.js';
import type { DialectAnswer, DialectEndpoint, DialectCall } from '../dialect.js';
import { OpenaiEvents } from '../openai/chat-events.js';
import { openaiErrorIn } from '../openai/errors.js';
import { chatRequest } from './chat-request.js';
import { messageOf } from './message-answer.js';
import { MessageStream } from './message-stream.js';
import { needsSignatures } from './thought-signature.js';

/** The endpoint of OpenAI's API for chat. */
export const CHAT = 'chat/completions';

/** The translation of chat to a dialect. */
interface ChatTranslation {
  readonly endpoint: DialectEndpoint;
  readonly call: DialectCall;
}

/**
 * Makes the endpoint of the Messages API for an upstream that does not serve it.
 * @param provider name of the upstream's provider.
 * @param supported OpenAI's parameters that the upstream supports.
 * @param chat the translation of chat; null: the upstream has OpenAI's API.
 */
export function messagesAsChat(
  provider: string,
  supported: ReadonlySet<string>,
  chat: ChatTranslation | null,
): DialectEndpoint {
  const chatEvents = chat === null ? openaiEvents : chat.endpoint.events;
  return {
    path: () => (chat === null ? CHAT : chat.endpoint.path(chat.call)),
    request: (members, call) =>
      chatRequest(members, call, {
        provider,
        supported,
        keepsThinking: chat !== null && supported.has('thinking'),
        understandsThinking: chat?.endpoint.understandsThinking?.(call.model) === true,
        needsSignatures: needsSignatures(provider),
      }),
    answer: (value, call) => {
      const answer = chat === null ? openaiAnswer(value) : chat.endpoint.answer(value, chat.call);
      return 'value' in answer ? { value: messageOf({ model: call.model, ...answer.value }) } : answer;
    },
    ...(chatEvents === undefined
      ? {}
      : {
          events: {
            mediaType: chatEvents.mediaType,
            open: (call) => new MessageStream(chatEvents.open({ ...call, endpoint: CHAT }), call.model),
          },
        }),
  };
}

const openaiEvents: NonNullable<DialectEndpoint['events']> = {
  mediaType: 'text/event-stream',
  open: () => new OpenaiEvents(),
};

function openaiAnswer(value: unknown): DialectAnswer {
  const answer = recordOf(value);
  if (answer === undefined) throw new Error('the answer is not an object');
  const error = 'choices' in answer ? undefined : openaiErrorIn(answer);
  return error === undefined ? { value: answer } : { error };
}
