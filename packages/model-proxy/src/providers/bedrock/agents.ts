/**
 * Bedrock's agents. The name of the model is `agent/AGENT/ALIAS`.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent-runtime_InvokeAgent.html
 */
import { randomUUID } from 'node:crypto';
import { invalidParameter } from '../../errors/model.js';
import { membersText } from '../../json/splice.js';
import { now } from '../anthropic/answer.js';
import { blocksOf } from '../anthropic/content.js';
import { recordsOf, textOf } from '../anthropic/values.js';
import { EventFrames } from '../aws/event-frames.js';
import { DialectRequest, type DialectEndpoint, type DialectEvents, type DialectStream } from '../dialect.js';
import { jsonMembers, memberValue, type RequestMembers } from '../request-members.js';
import { segmentOf, type ModelApi } from '../target.js';
import { bedrockError } from './bedrock-error.js';
import { chunkBytes } from './invoke-stream.js';
import { streamError } from './stream-error.js';
import { unchecked } from '../parameters.js';

/** The agent always streams. The end of the stream is the end of its answer. */
class AgentStream implements DialectStream {
  readonly #frames = new EventFrames();
  readonly #decoder = new TextDecoder();
  readonly #frame: object;

  constructor(model: string) {
    this.#frame = { id: randomUUID(), object: 'chat.completion.chunk', created: now(), model };
  }

  push(chunk: Buffer): DialectEvents {
    const events: object[] = [];
    for (const frame of this.#frames.push(chunk)) {
      const error = streamError(frame);
      if (error !== undefined) return { events, isDone: false, error };
      // Empty for `trace`, `returnControl` and `files`, which have no bytes.
      const content = this.#decoder.decode(chunkBytes(frame), { stream: true });
      if (content !== '') events.push(this.#chunk({ role: 'assistant', content }, null));
    }
    return { events, isDone: false };
  }

  finish(): DialectEvents {
    return { events: [this.#chunk({}, 'stop')], isDone: true };
  }

  #chunk(delta: object, reason: string | null): object {
    return { ...this.#frame, choices: [{ index: 0, delta, finish_reason: reason }] };
  }
}

/**
 * Returns the last message for an existing session, which stores its earlier messages. For a new session: all
 * messages.
 * @throws {ProxyError} 400: there is no message, or a part of a message is not a text.
 */
function inputOf(members: RequestMembers, sessionExists: boolean): string {
  const messages = recordsOf(memberValue(members, 'messages')).map(({ role, content }) => {
    const texts = blocksOf(content).map((block) => textOf(block['text']));
    if (texts.includes(undefined)) throw invalidParameter('messages', 'must have only texts for this model');
    return { role: textOf(role) ?? 'user', text: texts.join('\n') };
  });
  const last = messages.at(-1);
  if (last === undefined) throw invalidParameter('messages', 'must have a message');
  if (sessionExists || messages.length === 1) return last.text;
  return messages.map(({ role, text }) => `${role}: ${text}`).join('\n');
}

const SESSION_PARAMETER = 'sessionID';

const chat: DialectEndpoint = {
  path: () => 'agents',
  request: (members, { model }) => {
    const [agent = '', alias = ''] = model.split('/');
    const session = textOf(memberValue(members, SESSION_PARAMETER));
    const body = jsonMembers({ inputText: inputOf(members, session !== undefined), enableTrace: false });
    const path = `agents/${segmentOf(agent)}/agentAliases/${segmentOf(alias)}/sessions/${segmentOf(session ?? randomUUID())}/text`;
    return new DialectRequest(path, {
      contentType: 'application/json',
      body: Buffer.concat(membersText(new Map(body))),
    });
  },
  answer: () => {
    throw new Error('the answer is not an event stream');
  },
  events: { mediaType: 'application/vnd.amazon.eventstream', open: ({ model }) => new AgentStream(model) },
};

const supported: ReadonlySet<string> = new Set(['stream']);
/** The API of agents. */
export const agentApi: ModelApi = {
  dialect: { endpoints: new Map([['chat/completions', chat]]), error: bedrockError },
  supportedParameters: (path) => (path === 'chat/completions' ? supported : unchecked),
};
