/**
 * Which provider serves a model whose name does not say it. The facts are those of LiteLLM 1.109 (get_llm_provider_logic.py and its table
 * of models): OpenAI's names, Anthropic's and so on, without a prefix.
 */

/** Bedrock's names begin with the vendor, and before that often with a region. */
const bedrockVendors =
  'ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability|twelvelabs|writer|xai|zai';

/** The first pattern that matches decides. */
const names: readonly (readonly [provider: string, pattern: RegExp])[] = [
  ['text-completion-openai', /^(ft:)?(davinci|babbage)-002|^gpt-3\.5-turbo-instruct/],
  // gpt-oss is not served by OpenAI: its configuration names the server.
  ['openai', /^gpt-(?!oss)|^ft:(gpt|o\d)|^chatgpt-|^o\d(-|$)|^codex-|^computer-use-preview/],
  ['openai', /^text-embedding-(ada-|3-)|^(dall-e|whisper|tts|sora)-\d|^(omni|text)-moderation/],
  ['anthropic', /^claude-/],
  ['bedrock', new RegExp(`^((us|us-gov|eu|apac|au|ca|in|jp|sa|global)\\.)?(${bedrockVendors})\\.`)],
  ['vertex_ai', /^gemini-|^medlm-|^(text|chat|code|codechat)-(bison|unicorn|gecko)|^(imagen|veo)-/],
  [
    'vertex_ai',
    /^text-(embedding-(00|preview|large)|multilingual-embedding)|^(textembedding-gecko|multimodalembedding)/,
  ],
  ['cohere', /^command($|-)|^c4ai-|^embed-(english|multilingual)-|^rerank-(english|multilingual|v\d)/],
  ['ai21', /^j2-|^jamba-/],
  ['aleph_alpha', /^luminous-/],
  ['nlp_cloud', /^(chat)?dolphin$/],
  ['maritalk', /^maritalk$|^sabia-/],
  ['replicate', /:[0-9a-f]{64}$/],
];

/** Stands for the provider of every name that does not tell one. */
export const OTHER_NAMES = '';

/** @param model as configured or asked for. @returns undefined: the name does not tell. */
export function providerOfModel(model: string): string | undefined {
  return names.find(([, pattern]) => pattern.test(model))?.[0];
}
