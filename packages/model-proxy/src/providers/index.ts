/**
 * The table of providers. A new provider is a folder and one line here. With OpenAI's API, it is an
 * entry of openai/vendors.ts or openai/addressed.ts (docs/internals/how-to/add-a-provider.md).
 */
import { anthropic } from './anthropic/anthropic.js';
import { polly } from './aws/polly.js';
import { azureProviders } from './azure/azure.js';
import { bedrockProviders } from './bedrock/bedrock.js';
import { elevenlabs } from './elevenlabs/elevenlabs.js';
import { fal } from './fal/fal.js';
import { gigachat } from './gigachat/gigachat.js';
import { hostedVllm } from './hosted-vllm/hosted-vllm.js';
import { langgraph } from './langgraph/langgraph.js';
import { addressed } from './openai/addressed.js';
import { compatible } from './openai/compatible.js';
import { openai, openaiApiProvider } from './openai/openai.js';
import { vendors } from './openai/vendors.js';
import { vertexProviders } from './vertex/vertex.js';
import type { Provider } from './provider.js';
import { replicate } from './replicate/replicate.js';
import { sagemakerProviders } from './sagemaker/sagemaker.js';
import { watsonx } from './watsonx/watsonx.js';

export { openaiParameters } from './parameters.js';

/** Each provider, in the order of the documentation. */
const allProviders: readonly Provider[] = [
  openai,
  hostedVllm,
  anthropic,
  ...azureProviders,
  ...vertexProviders,
  ...bedrockProviders,
  polly,
  ...sagemakerProviders,
  watsonx,
  replicate,
  fal,
  elevenlabs,
  langgraph,
  gigachat,
  ...compatible,
  ...addressed,
  ...vendors,
];

const providers = new Map(allProviders.map((provider) => [provider.name, provider]));

/** The names of the supported providers. */
export const knownProviders: readonly string[] = [...providers.keys()];

/** Earlier addresses that the services still have. */
const earlierOrigins: ReadonlyMap<string, string> = new Map([['https://api.together.xyz', 'together_ai']]);

/**
 * Returns the provider whose service has the given address: `groq` for
 * `https://api.groq.com/openai/v1`. undefined: unknown.
 */
export function providerOfAddress(apiBase: string): string | undefined {
  const { origin } = new URL(apiBase);
  // Some providers have an http address of this machine, where any server may listen. It identifies no provider.
  if (!origin.startsWith('https:')) return undefined;
  return allProviders.find((provider) => originOf(provider) === origin)?.name ?? earlierOrigins.get(origin);
}

const originOf = ({ defaultApiBase }: Provider) => (defaultApiBase === null ? null : new URL(defaultApiBase).origin);

/** Returns whether a prefix of `model` is a supported provider. */
export function isKnownProvider(name: string): boolean {
  return providers.has(name);
}

/**
 * Returns the provider of a prefix. An unknown provider has OpenAI's API, but no default address
 * and no variable for its key: the configuration must set the address.
 */
export function findProvider(name: string): Provider {
  return providers.get(name) ?? openaiApiProvider({ name });
}
