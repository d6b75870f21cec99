/**
 * Names of OpenTelemetry's conventions for generative AI.
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/
 */

/** LiteLLM's providers whose name differs from the value of `gen_ai.provider.name`. */
const providerNames: ReadonlyMap<string, string> = new Map([
  ['azure', 'azure.ai.openai'],
  ['azure_ai', 'azure.ai.inference'],
  ['bedrock', 'aws.bedrock'],
  ['cohere_chat', 'cohere'],
  ['gemini', 'gcp.gemini'],
  ['mistral', 'mistral_ai'],
  ['vertex_ai', 'gcp.vertex_ai'],
  ['watsonx', 'ibm.watsonx.ai'],
  ['xai', 'x_ai'],
]);

/** Returns the value of `gen_ai.provider.name`. @param provider LiteLLM's name. */
export function providerNameOf(provider: string): string {
  return providerNames.get(provider) ?? provider;
}

const operations: ReadonlyMap<string, string> = new Map([
  ['completion', 'text_completion'],
  ['embedding', 'embeddings'],
  ['responses', 'chat'],
]);

/** Returns the value of `gen_ai.operation.name`. @param mode `model_info.mode` of an endpoint. */
export function operationOf(mode: string): string {
  return operations.get(mode) ?? mode;
}

/** Upper bounds that the conventions recommend, in seconds. */
export const DURATION_BOUNDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/** Upper bounds that the conventions recommend, in tokens. */
export const TOKEN_BOUNDS = Array.from({ length: 14 }, (_item, index) => 4 ** index);
