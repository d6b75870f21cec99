/** The measured requests and answers. */

/** The public name of the model that every target serves. */
export const PUBLIC_MODEL = 'bench';

const words = 'The quick brown fox says "why not?" and jumps over the lazy dog.\nThen it sleeps for an hour or two. ';
const text = (characters: number): string => words.repeat(Math.ceil(characters / words.length)).slice(0, characters);

function chat(contents: readonly string[], more: Readonly<Record<string, unknown>> = {}): string {
  const messages = contents.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }));
  return JSON.stringify({ model: PUBLIC_MODEL, messages, temperature: 0.2, max_tokens: 512, ...more });
}

/** A short question. */
export const request1KB = chat([text(850)]);
/** A long conversation. */
export const request200KB = chat(Array.from({ length: 400 }, () => text(440)));
/** A question with one image of 7.5 MB, which is 10 MB in base64. */
export const request10MB = JSON.stringify({
  model: PUBLIC_MODEL,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: text(200) },
        {
          type: 'image_url',
          image_url: { url: `data:image/png;base64,${Buffer.alloc(7_500_000, 'picture').toString('base64')}` },
        },
      ],
    },
  ],
});
/** A question whose answer streams. */
export const requestStreamed = chat([text(850)], { stream: true });

/** An answer like vLLM's, with null fields. */
export const answer1KB = JSON.stringify({
  id: 'chatcmpl-0123456789abcdef0123456789abcdef',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'bench-model',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: text(420),
        refusal: null,
        annotations: null,
        audio: null,
        function_call: null,
        tool_calls: [],
        reasoning_content: null,
      },
      logprobs: null,
      finish_reason: 'stop',
      stop_reason: null,
      token_ids: null,
    },
  ],
  service_tier: null,
  system_fingerprint: null,
  usage: { prompt_tokens: 210, total_tokens: 310, completion_tokens: 100, prompt_tokens_details: null },
  prompt_logprobs: null,
  prompt_token_ids: null,
  kv_transfer_params: null,
});
