/**
 * Makes the answers of the sample model, which repeats its input. The text and chat completion
 * objects are those of the contract, with all their null fields. The other objects are OpenAI's, except `rerank`, which
 * is vLLM's.
 */
import { randomUUID } from 'node:crypto';
import { arrayOf, inputText, maxTokens, tokensOf, toolToCall, type JsonObject } from './requests.js';

/** The common values of all answers to a request. */
export interface AnswerContext {
  /** The model's name in answers. */
  readonly model: string;
  /** Unix time in seconds. */
  readonly created: number;
}

interface Generated {
  readonly tokens: readonly string[];
  readonly finishReason: 'stop' | 'length';
  readonly usage: JsonObject;
}

function generate(request: JsonObject): Generated {
  const input = inputText(request);
  const all = tokensOf(`You said: ${input}`);
  const tokens = all.slice(0, Math.max(0, maxTokens(request)));
  return {
    tokens,
    finishReason: tokens.length < all.length ? 'length' : 'stop',
    usage: usageOf(tokensOf(input).length, tokens.length),
  };
}

function usageOf(prompt: number, completion: number): JsonObject {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: null,
    completion_tokens_details: null,
  };
}

/** Makes the answer of `/v1/completions`. */
export function textCompletion(request: JsonObject, { model, created }: AnswerContext): JsonObject {
  const { tokens, finishReason, usage } = generate(request);
  const choice = { index: 0, text: tokens.join(''), logprobs: null, finish_reason: finishReason };
  return {
    id: `cmpl-${randomUUID()}`,
    object: 'text_completion',
    created,
    model,
    choices: [{ ...choice, stop_reason: null, prompt_logprobs: null }],
    usage,
  };
}

/**
 * Makes the answer of `/v1/chat/completions`. Calls the first offered tool, unless the last message is a tool's result
 * or the request forbids calls.
 */
export function chatCompletion(request: JsonObject, { model, created }: AnswerContext): JsonObject {
  const { tokens, finishReason, usage } = generate(request);
  const tool = toolToCall(request);
  const message = { role: 'assistant', content: tokens.join(''), tool_calls: null, function_call: null };
  const call = tool && [{ id: `call_${randomUUID()}`, type: 'function', function: tool }];
  return {
    id: `chatcmpl-${randomUUID()}`,
    created,
    model,
    object: 'chat.completion',
    system_fingerprint: null,
    choices: [
      call === undefined
        ? { finish_reason: finishReason, index: 0, message }
        : { finish_reason: 'tool_calls', index: 0, message: { ...message, content: null, tool_calls: call } },
    ],
    usage,
    service_tier: null,
    prompt_logprobs: null,
  };
}

/** Makes the events of a streamed answer of `/v1/chat/completions`, without `[DONE]`. */
export function chatChunks(request: JsonObject, { model, created }: AnswerContext): readonly JsonObject[] {
  const { tokens, finishReason, usage } = generate(request);
  const tool = toolToCall(request);
  const head = { id: `chatcmpl-${randomUUID()}`, created, model, object: 'chat.completion.chunk' };
  const chunk = (delta: JsonObject, finish: string | null = null) => ({
    ...head,
    system_fingerprint: null,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  const call = (more: JsonObject) => chunk({ tool_calls: [{ index: 0, ...more }] });
  const said =
    tool === undefined
      ? tokens.map((content) => chunk({ content }))
      : [
          call({ id: `call_${randomUUID()}`, type: 'function', function: { name: tool.name, arguments: '' } }),
          ...(tool.arguments.match(/.{1,8}/gs) ?? []).map((part) => call({ function: { arguments: part } })),
        ];
  return [
    chunk({ role: 'assistant', content: '' }),
    ...said,
    chunk({}, tool === undefined ? finishReason : 'tool_calls'),
    ...(asksForUsage(request) ? [{ ...head, choices: [], usage }] : []),
  ];
}

/** Makes the events of a streamed answer of `/v1/completions`, without `[DONE]`. */
export function textChunks(request: JsonObject, { model, created }: AnswerContext): readonly JsonObject[] {
  const { tokens, finishReason, usage } = generate(request);
  const head = { id: `cmpl-${randomUUID()}`, object: 'text_completion', created, model };
  const chunk = (text: string, finish: string | null) => ({
    ...head,
    choices: [{ index: 0, text, logprobs: null, finish_reason: finish, stop_reason: null, prompt_logprobs: null }],
  });
  return [
    ...tokens.map((token) => chunk(token, null)),
    chunk('', finishReason),
    ...(asksForUsage(request) ? [{ ...head, choices: [], usage }] : []),
  ];
}

function asksForUsage({ stream_options: options }: JsonObject): boolean {
  return (
    typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage === true
  );
}

/** Makes the answer of `/v1/embeddings`: a vector for each input, as numbers or as base64. */
export function embeddings(request: JsonObject, { model }: AnswerContext): JsonObject {
  const { input } = request;
  const texts = Array.isArray(input) ? input.map(String) : [inputText(request)];
  const data = texts.map((text, index) => {
    const vector = [text.length, tokensOf(text).length, 0.5];
    const embedding =
      request['encoding_format'] === 'base64'
        ? Buffer.from(new Float32Array(vector).buffer).toString('base64')
        : vector;
    return { object: 'embedding', index, embedding };
  });
  const count = texts.reduce((sum, text) => sum + tokensOf(text).length, 0);
  return { object: 'list', data, model, usage: { prompt_tokens: count, total_tokens: count } };
}

/** Makes the answer of `/v1/models`. */
export function modelList(names: readonly string[], created: number): JsonObject {
  const data = names.map((id) => ({ id, object: 'model', created, owned_by: 'sample' }));
  return { object: 'list', data };
}

/** Makes the answer of `/v1/rerank`. Documents with more words of the query come first. */
export function rerank(request: JsonObject, { model }: AnswerContext): JsonObject {
  const { query } = request;
  const words = tokensOf(typeof query === 'string' ? query : '').map((word) => word.trim().toLowerCase());
  const results = arrayOf(request['documents'])
    .map((document, index) => {
      const text = String(document).toLowerCase();
      const found = words.filter((word) => text.includes(word)).length;
      return {
        index,
        document: { text: String(document) },
        relevance_score: words.length === 0 ? 0 : found / words.length,
      };
    })
    .toSorted((left, right) => right.relevance_score - left.relevance_score);
  return { id: `rerank-${randomUUID()}`, model, usage: { total_tokens: words.length }, results };
}

/** Makes the answer of `/v1/moderations`, which never flags anything. */
export function moderation(_request: JsonObject, { model }: AnswerContext): JsonObject {
  return { id: `modr-${randomUUID()}`, model, results: [{ flagged: false, categories: {}, category_scores: {} }] };
}

/** Makes the answer of `/v1/responses`. */
export function response(request: JsonObject, { model, created }: AnswerContext, status = 'completed'): JsonObject {
  const { tokens, usage } = generate(request);
  const item = {
    type: 'message',
    id: `msg_${randomUUID()}`,
    status,
    role: 'assistant',
    content: [{ type: 'output_text', text: tokens.join(''), annotations: [] }],
  };
  return {
    id: `resp_${randomUUID()}`,
    object: 'response',
    created_at: created,
    status,
    model,
    output: status === 'completed' ? [item] : [],
    usage:
      status === 'completed'
        ? {
            input_tokens: usage['prompt_tokens'],
            output_tokens: usage['completion_tokens'],
            total_tokens: usage['total_tokens'],
          }
        : null,
  };
}

/**
 * Makes the events of a streamed answer of `/v1/responses`. Each event has a `type`. An event with
 * a `response` also has its `model`.
 */
export function responseEvents(request: JsonObject, context: AnswerContext): readonly JsonObject[] {
  const whole = response(request, context);
  const begun = { ...whole, status: 'in_progress', output: [], usage: null };
  const events: readonly JsonObject[] = [
    { type: 'response.created', response: begun },
    ...generate(request).tokens.map((delta) => ({
      type: 'response.output_text.delta',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta,
      logprobs: [],
    })),
    { type: 'response.completed', response: whole },
  ];
  return events.map((event, index) => ({ ...event, sequence_number: index }));
}
