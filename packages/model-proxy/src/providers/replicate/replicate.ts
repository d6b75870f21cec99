/**
 * Text models of Replicate. Replicate answers when the prediction has ended, after a minute at the latest. If
 * the prediction still runs then, the client gets an error with status 504.
 * @see https://replicate.com/docs/reference/http#predictions.create
 * @see https://replicate.com/docs/topics/predictions/create-a-prediction
 */
import { invalidParameter } from '../../errors/model.js';
import { now } from '../anthropic/answer.js';
import { blocksOf } from '../anthropic/content.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import type { Dialect, DialectEndpoint } from '../dialect.js';
import { openaiApiProvider } from '../openai/openai.js';
import type { Provider } from '../provider.js';
import { jsonMembers, memberValue, type RequestMembers } from '../request-members.js';
import { segmentOf } from '../target.js';

/**
 * Returns the path of a model (`owner/name`) or of a deployment (`deployments/owner/name`). If the name ends with a
 * version, returns the path `predictions` and the version.
 */
function placeOf(model: string): { readonly path: string; readonly version?: string } {
  const [name = '', version] = model.split(':', 2);
  if (version !== undefined) return { path: 'predictions', version };
  const [kind, rest] = name.startsWith('deployments/') ? ['deployments', name.slice(12)] : ['models', name];
  return { path: `${kind}/${rest.split('/').map(segmentOf).join('/')}/predictions` };
}

/**
 * Returns the system messages as one text, and all other messages as the prompt. If there is only one other message, it
 * gets no role before its text, so that the model's own template applies.
 * @throws {ProxyError} 400: a message has something else than text.
 */
function promptOf(members: RequestMembers): { readonly system?: string; readonly prompt: string } {
  const messages = recordsOf(memberValue(members, 'messages')).map(({ role, content }) => {
    const texts = blocksOf(content).map((block) => textOf(block['text']));
    if (texts.includes(undefined)) throw invalidParameter('messages', 'must have only texts for this provider');
    return { role: textOf(role) ?? 'user', text: texts.join('\n') };
  });
  const isSystem = ({ role }: { readonly role: string }) => role === 'system' || role === 'developer';
  const [system, turns] = [messages.filter(isSystem), messages.filter((message) => !isSystem(message))];
  const [only] = turns.length === 1 ? turns : [];
  const prompt = only?.text ?? `${turns.map(({ role, text }) => `${role}: ${text}`).join('\n')}\nassistant:`;
  return { prompt, ...(system.length === 0 ? {} : { system: system.map(({ text }) => text).join('\n') }) };
}

const sameNames = ['temperature', 'top_p', 'top_k', 'min_tokens', 'seed', 'presence_penalty', 'frequency_penalty'];

function inputOf(members: RequestMembers): object {
  const { system, prompt } = promptOf(members);
  const stop = memberValue(members, 'stop');
  const given = Object.fromEntries(sameNames.map((name) => [name, memberValue(members, name)]));
  return {
    prompt,
    system_prompt: system,
    max_tokens: memberValue(members, 'max_completion_tokens') ?? memberValue(members, 'max_tokens'),
    stop_sequences: Array.isArray(stop) ? stop.join(',') : stop,
    ...given,
  };
}

const chat: DialectEndpoint = {
  path: ({ model }) => placeOf(model).path,
  request: (members, { model, streams }) => {
    if (streams)
      throw invalidParameter('stream', 'must be false, because the proxy supports no streams of this provider');
    return new Map(jsonMembers({ version: placeOf(model).version, input: inputOf(members) }));
  },
  answer: (value, { model }) => {
    const { id, status, output, error, metrics } = recordOf(value) ?? {};
    if (status === 'failed' || status === 'canceled')
      return { error: { status: 502, message: textOf(error) ?? `the prediction has the status ${status}` } };
    if (status === 'starting' || status === 'processing')
      return { error: { status: 504, message: 'the prediction took more than a minute' } };
    const content = Array.isArray(output) ? output.join('') : textOf(output);
    if (content === undefined) throw new Error('the answer has no text');
    const { input_token_count: prompt, output_token_count: completion } = recordOf(metrics) ?? {};
    const counts = typeof prompt === 'number' && typeof completion === 'number' ? [prompt, completion] : [0, 0];
    const [promptTokens = 0, completionTokens = 0] = counts;
    return {
      value: {
        id,
        object: 'chat.completion',
        created: now(),
        model,
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        usage: {
          prompt_tokens: promptTokens,
          completion_tokens: completionTokens,
          total_tokens: promptTokens + completionTokens,
        },
      },
    };
  },
};

const dialect: Dialect = {
  endpoints: new Map([['chat/completions', chat]]),
  error: (_status, body) => {
    const message = textOf(recordOf(body)?.['detail']);
    return message === undefined ? undefined : { message };
  },
};

/** Replicate. */
export const replicate: Provider = {
  ...openaiApiProvider({
    name: 'replicate',
    apiKeyEnvironment: ['REPLICATE_API_KEY', 'REPLICATE_API_TOKEN'],
    apiBaseEnvironment: ['REPLICATE_API_BASE'],
    defaultApiBase: 'https://api.replicate.com/v1',
    modelParameters: ['version'],
  }),
  // Replicate waits for at most 60 s.
  headers: (apiKey) => ({ prefer: 'wait=60', ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }) }),
  dialect,
};
