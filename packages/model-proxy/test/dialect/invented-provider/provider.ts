/**
 * The invented provider `parley`, whose API differs from OpenAI's in paths, requests, answers, streams and errors, and
 * needs a signature. Only its embeddings have OpenAI's form. This folder has the whole dialect.
 */
import { createHash } from 'node:crypto';
import { invalidParameter } from '../../../src/errors/model.js';
import type { Dialect, DialectAnswer, DialectEndpoint } from '../../../src/providers/dialect.js';
import type { Provider } from '../../../src/providers/provider.js';
import type { RequestMembers } from '../../../src/providers/request-members.js';
import { FrameStream } from './frame-stream.js';
import { ChatStream } from './chat-stream.js';
import { errorIn, textIn } from './errors.js';

const supported: ReadonlySet<string> = new Set(['model', 'messages', 'max_tokens', 'stream', 'seed']);

/** Chat: `POST talk/{engine}`. Streams are server-sent events with names. */
const chat: DialectEndpoint = {
  path: ({ model, streams }) => `talk/${encodeURIComponent(model)}${streams ? '?live=events' : ''}`,
  request: (members) => {
    const messages = valueOf(members, 'messages');
    if (!Array.isArray(messages)) throw invalidParameter('messages', 'must be a list');
    const lines = messages.map((message: unknown) => ({
      who: textIn(message, 'role'),
      says: textIn(message, 'content'),
    }));
    const body = new Map<string, Buffer>([['lines', Buffer.from(JSON.stringify(lines))]]);
    const limit = members.bytes('max_tokens');
    if (limit !== undefined) body.set('limit', limit);
    // Forwards the number unchanged: JavaScript would round a large seed.
    const seed = members.bytes('seed');
    if (seed !== undefined) body.set('dice', seed);
    return body;
  },
  answer: (value, { model }) =>
    answerOf(value, (says, wrote) => ({
      id: 'parley',
      object: 'chat.completion',
      model,
      choices: [{ index: 0, message: { role: 'assistant', content: says }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: wrote, total_tokens: 3 + wrote },
    })),
  events: { mediaType: 'text/event-stream', open: ({ model }) => new ChatStream(model) },
};

/** Text completion: `POST write/{engine}`. Streams are binary frames. */
const completions: DialectEndpoint = {
  path: ({ model }) => `write/${encodeURIComponent(model)}`,
  request: (members) => new Map([['start', members.bytes('prompt') ?? Buffer.from('""')]]),
  answer: (value, { model }) =>
    answerOf(value, (text) => ({ model, choices: [{ index: 0, text, finish_reason: 'stop' }] })),
  events: { mediaType: 'application/x-parley-frames', open: ({ model }) => new FrameStream(model) },
};

function answerOf(value: unknown, make: (says: string, wrote: number) => object): DialectAnswer {
  const error = errorIn(value);
  if (error !== undefined) return { error: { status: 500, ...error } };
  const says = textIn(value, 'says');
  if (says === null) throw new Error('the answer has no member `says`');
  return { value: make(says, says.split(' ').length) };
}

function valueOf(members: RequestMembers, name: string): unknown {
  const bytes = members.bytes(name);
  return bytes === undefined ? undefined : JSON.parse(bytes.toString());
}

/** Returns the signature that the upstream expects. */
export function digestOf(key: string | null, path: string, body: Buffer): string {
  return createHash('sha256')
    .update(`${key ?? ''} ${path} `)
    .update(body)
    .digest('hex');
}

const dialect: Dialect = {
  endpoints: new Map<string, DialectEndpoint | 'unchanged'>([
    ['chat/completions', chat],
    ['completions', completions],
    ['embeddings', 'unchanged'],
  ]),
  error: (_status, body) => errorIn(body),
  sign: ({ apiKey, url, body }) => {
    const { pathname, search } = new URL(url);
    return { 'x-parley-digest': digestOf(apiKey, pathname + search, Buffer.concat(body)) };
  },
};

export const inventedProvider: Provider = {
  name: 'parley',
  exceptionName: 'ParleyException',
  apiKeyEnvironment: ['PARLEY_API_KEY'],
  apiBaseEnvironment: ['PARLEY_API_BASE'],
  defaultApiBase: null,
  supportedParameters: () => supported,
  headers: (apiKey) => (apiKey === null ? {} : { 'x-parley-key': apiKey }),
  dialect,
};
