/**
 * The two objects of the contract as an upstream may write them: with every field of the tables,
 * and in an unusual spelling that no JSON serializer would reproduce.
 */

/** A field of a table, and its text in the object. */
export interface FieldText {
  /** The name of the row. */
  readonly row: string;
  /** Occurs once in the text. */
  readonly text: string;
}

/** An object with the texts of its fields. */
export interface ObjectText {
  /** The complete answer; its model is {@link REPORTED}. */
  readonly text: string;
  readonly fields: readonly FieldText[];
}

/** The name of the model at the upstream, which differs from the name in requests. */
export const REPORTED = '/models/Sample-Model';

const usage = [
  { row: 'prompt_tokens', text: '"prompt_tokens":17 ' },
  { row: 'completion_tokens', text: '"completion_tokens" :25' },
  { row: 'total_tokens', text: '"total_tokens": 42' },
  { row: 'prompt_tokens_details', text: '"prompt_tokens_details" : null' },
  { row: 'completion_tokens_details', text: '"completion_tokens_details":  null' },
];
/** The fields of the usage object. */
export const usageFields: readonly FieldText[] = usage;

const usageText = `{${usage.map(({ text }) => text).join(', ')}}`;

const member = (row: string, text: string): FieldText => ({ row, text });

function objectText(fields: readonly FieldText[]): ObjectText {
  return { text: `{ ${fields.map(({ text }) => text).join(',\t')}\r\n}`, fields };
}

const CHOICE_TEXT = [
  member('index', '"index" : 0'),
  member('text', '"text":"Gr\\u00fc\\u00dfe \\/ \\ud83d\\ude00 é"'),
  member('logprobs', '"logprobs" :null'),
  member('finish_reason', '"finish_reason": "stop"'),
  member('stop_reason', '"stop_reason"  : null'),
  member('prompt_logprobs', '"prompt_logprobs": null'),
];

/** The text completion object and its choice item. */
export const textObject: ObjectText & { readonly choiceFields: readonly FieldText[] } = {
  ...objectText([
    member('id', '"id" :"cmpl-8f2\\u0061"'),
    member('object', '"object" : "text_completion"'),
    member('created', '"created":1.7e9'),
    member('model', `"model" : "${REPORTED}"`),
    member('choices', `"choices": [ {${CHOICE_TEXT.map(({ text }) => text).join(' ,')} } ]`),
    member('usage', `"usage" : ${usageText}`),
    // The proxy must also forward unknown fields.
    member('kv_transfer_params', '"kv_transfer_params":{"a":[1.0,1E+2]}'),
  ]),
  choiceFields: CHOICE_TEXT,
};

const MESSAGE = [
  member('message.role', '"role" :"assistant"'),
  member('message.content', '"content": "Gr\\u00fc\\u00dfe\\n"'),
  member('message.tool_calls', '"tool_calls" : null'),
  member('message.function_call', '"function_call":null'),
];
const CHAT_CHOICE = [
  member('finish_reason', '"finish_reason" :"stop"'),
  member('index', '"index":0'),
  member('message', `"message" : {${MESSAGE.map(({ text }) => text).join(' , ')}, "reasoning":"\\u2026"}`),
];

/** The chat completion object, its choice item, and the message. */
export const chatObject: ObjectText & { readonly choiceFields: readonly FieldText[] } = {
  ...objectText([
    member('id', '"id":  "chatcmpl-77\\u002d1"'),
    member('created', '"created" : 1700000000'),
    member('model', `"model":"${REPORTED}"`),
    member('object', '"object" :"chat.completion"'),
    member('system_fingerprint', '"system_fingerprint" : null'),
    member('choices', `"choices":[{${CHAT_CHOICE.map(({ text }) => text).join(', ')}}]`),
    member('usage', `"usage" :${usageText}`),
    member('service_tier', '"service_tier": null'),
    member('prompt_logprobs', '"prompt_logprobs" : null'),
  ]),
  choiceFields: [...CHAT_CHOICE, ...MESSAGE],
};

/**
 * Returns the object as an event of a stream: on one line, as a chunk, with a delta instead of a
 * message.
 */
export function chunkText({ text }: ObjectText): string {
  return text
    .replaceAll(/[\r\n]+/g, ' ')
    .replace('"chat.completion"', '"chat.completion.chunk"')
    .replace('"message" :', '"delta" :');
}
