/**
 * Finds the provider of a model name without a prefix. The facts come from LiteLLM 1.109
 * (get_llm_provider_logic.py and its table of models).
 */

/** Vendors in Bedrock's names. The vendor comes first, or after a region. */
const bedrockVendors =
  'ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability|twelvelabs|writer|xai|zai';

/** The first pattern that matches decides. */
const names: readonly (readonly [provider: string, pattern: RegExp])[] = [
  ['text-completion-openai', /^(ft:)?(davinci|babbage)-002|^gpt-3\.5-turbo-instruct/],
  // OpenAI does not serve gpt-oss. The configuration must name its server.
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

/** The key in `byProvider` of a deployment for names whose provider is unknown. */
export const OTHER_NAMES = '';

/** Returns the provider of a model name without a prefix; undefined: unknown. */
export function providerOfModel(model: string): string | undefined {
  return names.find(([, pattern]) => pattern.test(model))?.[0];
}
