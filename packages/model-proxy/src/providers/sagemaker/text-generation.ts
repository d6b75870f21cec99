/**
 * Hugging Face's API for text, which containers of Hugging Face and of Deep Java Library serve.
 * @see https://huggingface.co/docs/text-generation-inference/reference/api_reference
 * @see https://docs.djl.ai/master/docs/serving/serving/docs/lmi/user_guides/lmi_input_output_schema.html
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { parseWithinLimits } from '../../json/parse-within-limits.js';
import { EventReader, type ServerSentEvent } from '../../sse/event-reader.js';
import { now } from '../anthropic/answer.js';
import { blocksOf } from '../anthropic/content.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import { invalidParameter } from '../../errors/model.js';
import type { DialectAnswer, DialectCall, DialectEndpoint, DialectEvents, DialectStream } from '../dialect.js';
import { jsonMembers, memberValue, type RequestMembers } from '../request-members.js';
import { invocations, MEDIA_TYPE } from './invocations.js';
import { PayloadStream } from './payload-stream.js';

/** Parameters that have the same name in `parameters`. */
const sameNames = ['temperature', 'top_p', 'top_k', 'typical_p', 'repetition_penalty', 'seed', 'return_full_text'];

function parametersOf(members: RequestMembers): Readonly<Record<string, unknown>> {
  const given = sameNames.map((name) => [name, memberValue(members, name)] as const);
  const present = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  const stop = memberValue(members, 'stop');
  const { temperature, ...others } = present;
  return {
    // The container rejects 0. `do_sample: false` means the same: the container always takes the likeliest token.
    ...(temperature === 0 ? { ...others, do_sample: false } : present),
    ...optional('max_new_tokens', memberValue(members, 'max_completion_tokens') ?? memberValue(members, 'max_tokens')),
    ...optional('stop', typeof stop === 'string' ? [stop] : stop),
  };
}

const optional = (name: string, value: unknown) => (value === undefined ? {} : { [name]: value });

function requestWith(inputs: string, members: RequestMembers): Map<string, Buffer> {
  const stream = memberValue(members, 'stream') === true ? true : undefined;
  return new Map(jsonMembers({ inputs, parameters: parametersOf(members), stream }));
}

/**
 * Joins the texts of all messages to one prompt without roles, as LiteLLM does. `sagemaker_chat` uses the model's own
 * template.
 * @throws {ProxyError} 400: a message has something else than text.
 */
function promptOf(members: RequestMembers): string {
  const messages = recordsOf(memberValue(members, 'messages'));
  const blocks = messages.flatMap(({ content }) => blocksOf(content));
  const texts = blocks.map((block) => textOf(block['text']));
  if (texts.includes(undefined)) throw invalidParameter('messages', 'must have only texts for this model');
  return texts.join(' ');
}

const details = z.object({
  finish_reason: z.string().nullish(),
  generated_tokens: z.number().nullish(),
  // A list of tokens; only its length counts.
  prefill: z.array(z.unknown()).nullish(),
});
const answered = z.object({ generated_text: z.string(), details: details.nullish() });
type Answered = z.infer<typeof answered>;

/** Reads the container's answer or error, which may be in a list. @throws {ZodError} if the value is neither. */
function generated(value: unknown): Answered | { readonly error: string } {
  const only: unknown = Array.isArray(value) ? value[0] : value;
  const error = textOf(recordOf(only)?.['error']);
  return error === undefined ? answered.parse(only) : { error };
}

const finishReason = (reason: string | null | undefined) => (reason === 'length' ? 'length' : 'stop');

function usageOf({ details: found }: Pick<Answered, 'details'>): object {
  if (typeof found?.generated_tokens !== 'number') return {};
  const [prompt, completion] = [found.prefill?.length ?? 0, found.generated_tokens];
  return { usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion } };
}

function answerWith(value: unknown, choiceOf: (text: string) => object, object: string, model: string): DialectAnswer {
  const found = generated(value);
  if ('error' in found) return { error: { status: 500, message: found.error } };
  const choice = {
    index: 0,
    ...choiceOf(found.generated_text),
    finish_reason: finishReason(found.details?.finish_reason),
  };
  return { value: { id: randomUUID(), object, created: now(), model, choices: [choice], ...usageOf(found) } };
}

const token = z.object({ text: z.string(), special: z.boolean().nullish() });
const streamed = z.object({
  token: token.nullish(),
  generated_text: z.string().nullish(),
  details: details.nullish(),
});

/** Translates the container's events. @param choiceOf OpenAI's choice for a text. */
class TextStream implements DialectStream {
  readonly #reader = new EventReader();
  readonly #frame: object;
  readonly #choiceOf: (text: string) => object;

  constructor({ model }: DialectCall, object: string, choiceOf: (text: string) => object) {
    this.#frame = { id: randomUUID(), object, created: now(), model };
    this.#choiceOf = choiceOf;
  }

  push(chunk: Buffer): DialectEvents {
    return this.#read(this.#reader.push(chunk));
  }

  finish(): DialectEvents {
    return this.#read(this.#reader.finish());
  }

  #read(received: readonly ServerSentEvent[]): DialectEvents {
    const events: object[] = [];
    for (const { data } of received) {
      const value = parseWithinLimits(data);
      const error = textOf(recordOf(value)?.['error']);
      if (error !== undefined) return { events, isDone: false, error: { status: 500, message: error } };
      const { token: next, generated_text: whole, details: found } = streamed.parse(value);
      const isEnd = typeof whole === 'string';
      const text = next?.special === true ? '' : (next?.text ?? '');
      if (text === '' && !isEnd) continue;
      const reason = isEnd ? finishReason(found?.finish_reason) : null;
      const usage = isEnd ? usageOf({ details: found }) : {};
      events.push({
        ...this.#frame,
        choices: [{ index: 0, ...this.#choiceOf(text), finish_reason: reason }],
        ...usage,
      });
      if (isEnd) return { events, isDone: true };
    }
    return { events, isDone: false };
  }
}

const deltaOf = (content: string) => ({ delta: { role: 'assistant', content } });
const textIn = (text: string) => ({ text, logprobs: null });

/** Chat, whose messages become one prompt. */
export const textChat: DialectEndpoint = {
  path: invocations,
  request: (members) => requestWith(promptOf(members), members),
  answer: (value, { model }) =>
    answerWith(value, (content) => ({ message: { role: 'assistant', content } }), 'chat.completion', model),
  events: {
    mediaType: MEDIA_TYPE,
    open: (call) => new PayloadStream(new TextStream(call, 'chat.completion.chunk', deltaOf)),
  },
};

/** Completions. A list of prompts, or a prompt of tokens, is rejected with status 400. */
export const textCompletions: DialectEndpoint = {
  path: invocations,
  request: (members) => {
    const prompt = memberValue(members, 'prompt');
    if (typeof prompt !== 'string') throw invalidParameter('prompt', 'must be a text for this model');
    return requestWith(prompt, members);
  },
  answer: (value, { model }) => answerWith(value, textIn, 'text_completion', model),
  events: {
    mediaType: MEDIA_TYPE,
    open: (call) => new PayloadStream(new TextStream(call, 'text_completion', textIn)),
  },
};
