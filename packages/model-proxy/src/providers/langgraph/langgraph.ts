/**
 * Agents of LangGraph's server. The name of the model is the agent's id. Each request is a run without a
 * thread, with all messages of the client.
 * @see https://langchain-ai.github.io/langgraph/cloud/reference/api/api_ref/
 * @see https://docs.langchain.com/langsmith/streaming
 */
import { randomUUID } from 'node:crypto';
import { parseWithinLimits } from '../../json/parse-within-limits.js';
import { EventReader, type ServerSentEvent } from '../../sse/event-reader.js';
import { now } from '../anthropic/answer.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import type { Dialect, DialectEndpoint, DialectEvents, DialectStream, UpstreamError } from '../dialect.js';
import { openaiApiProvider } from '../openai/openai.js';
import type { Provider } from '../provider.js';
import { jsonMembers, memberValue } from '../request-members.js';

/** Returns the text of a content of LangChain's messages, which is a text or a list of parts. */
const contentOf = (content: unknown): string =>
  textOf(content) ??
  recordsOf(content)
    .map(({ text }) => textOf(text) ?? '')
    .join('');

/** Returns whether a message is the agent's. Streams have `AIMessageChunk`, whole states have `ai`. */
const isOfAgent = ({ type }: Readonly<Record<string, unknown>>): boolean => type === 'ai' || type === 'AIMessageChunk';

/** Translates the events of a run. The end of the run is the end of the stream. */
class RunStream implements DialectStream {
  readonly #reader = new EventReader();
  readonly #frame: object;
  #hasFailed = false;

  constructor(model: string) {
    this.#frame = { id: randomUUID(), object: 'chat.completion.chunk', created: now(), model };
  }

  push(chunk: Buffer): DialectEvents {
    return this.#read(this.#reader.push(chunk));
  }

  finish(): DialectEvents {
    const { events, error } = this.#read(this.#reader.finish());
    if (error !== undefined || this.#hasFailed) return { events, isDone: false, ...(error && { error }) };
    return { events: [...events, this.#chunk({}, 'stop')], isDone: true };
  }

  #read(received: readonly ServerSentEvent[]): DialectEvents {
    const events: object[] = [];
    for (const { name, data } of received) {
      const value = parseWithinLimits(data);
      if (name === 'error') {
        this.#hasFailed = true;
        return { events, isDone: false, error: runError(value) };
      }
      const [message] = name === 'messages' ? recordsOf(value) : [];
      const content = message !== undefined && isOfAgent(message) ? contentOf(message['content']) : '';
      if (content !== '') events.push(this.#chunk({ role: 'assistant', content }, null));
    }
    return { events, isDone: false };
  }

  #chunk(delta: object, reason: string | null): object {
    return { ...this.#frame, choices: [{ index: 0, delta, finish_reason: reason }] };
  }
}

function runError(value: unknown): UpstreamError {
  const { error, message } = recordOf(value) ?? {};
  return { status: 500, message: textOf(message) ?? textOf(error) ?? 'the run failed', type: textOf(error) ?? null };
}

const chat: DialectEndpoint = {
  path: ({ streams }) => (streams ? 'runs/stream' : 'runs/wait'),
  request: (members, { model, streams }) =>
    new Map(
      jsonMembers({
        assistant_id: model,
        input: { messages: memberValue(members, 'messages') },
        stream_mode: streams ? ['messages-tuple'] : undefined,
      }),
    ),
  answer: (value, { model }) => {
    const state = recordOf(value) ?? {};
    const fault = recordOf(state['__error__']);
    if (fault !== undefined) return { error: runError(fault) };
    const last = recordsOf(state['messages']).findLast(isOfAgent);
    if (last === undefined) throw new Error('the state of the run has no message of the agent');
    const message = { role: 'assistant', content: contentOf(last['content']) };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    return {
      value: { id: textOf(last['id']) ?? randomUUID(), object: 'chat.completion', created: now(), model, choices },
    };
  },
  events: { mediaType: 'text/event-stream', open: ({ model }) => new RunStream(model) },
};

const dialect: Dialect = {
  endpoints: new Map([['chat/completions', chat]]),
  error: (_status, body) => {
    const { detail, message } = recordOf(body) ?? {};
    const text = textOf(detail) ?? textOf(message);
    return text === undefined ? undefined : { message: text };
  },
};

/** LangGraph's server. */
export const langgraph: Provider = {
  ...openaiApiProvider({
    name: 'langgraph',
    apiKeyEnvironment: ['LANGGRAPH_API_KEY'],
    apiBaseEnvironment: ['LANGGRAPH_API_BASE'],
    defaultApiBase: 'http://localhost:2024',
    keyHeader: 'x-api-key',
    modelParameters: ['assistant_id'],
  }),
  dialect,
};
