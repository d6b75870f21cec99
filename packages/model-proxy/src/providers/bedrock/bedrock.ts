/**
 * Amazon Bedrock at its endpoints with OpenAI's API, with an API key of Bedrock.
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html
 */
import { openaiApiProvider } from '../openai/openai.js';
import type { Provider } from '../provider.js';
import type { TargetOf, TargetSettings } from '../target.js';

/** LiteLLM's region for deployments without `aws_region_name`. */
const DEFAULT_REGION = 'us-west-2';

const regionOf = ({ value }: TargetSettings) =>
  value('aws_region_name', 'AWS_REGION_NAME', 'AWS_REGION', 'AWS_DEFAULT_REGION') ?? DEFAULT_REGION;

/** Models of OpenAI, also in a profile of a region. LiteLLM's prefix selects another API for them. */
const openaiModel = /^(?:converse\/)?((?:[a-z-]{2,6}\.)?openai\.[\w.:-]+)$/;

const bedrockTarget: TargetOf = (settings) => {
  const [, upstreamModel] = openaiModel.exec(settings.model) ?? [];
  if (upstreamModel === undefined) return 'bedrock has its own API, which is not implemented';
  if (settings.apiKey === null && settings.value(null, 'AWS_BEARER_TOKEN_BEDROCK') === undefined)
    return 'bedrock needs an API key of Bedrock in api_key or AWS_BEARER_TOKEN_BEDROCK: signed requests are not implemented';
  const address = settings.apiBase ?? `https://bedrock-runtime.${regionOf(settings)}.amazonaws.com`;
  return { apiBase: `${address.replace(/\/openai\/v1$/, '')}/openai/v1`, upstreamModel };
};

const mantleTarget: TargetOf = (settings) => {
  const region = settings.value(null, 'BEDROCK_MANTLE_REGION') ?? regionOf(settings);
  return { apiBase: settings.apiBase ?? `https://bedrock-mantle.${region}.api.aws/v1` };
};

/** The providers of Bedrock. */
export const bedrockProviders: readonly Provider[] = [
  openaiApiProvider({
    name: 'bedrock',
    displayName: 'BedrockException',
    apiKeyEnvironment: ['AWS_BEARER_TOKEN_BEDROCK'],
    apiBaseEnvironment: ['AWS_BEDROCK_RUNTIME_ENDPOINT'],
    targetOf: bedrockTarget,
  }),
  openaiApiProvider({
    name: 'bedrock_mantle',
    apiKeyEnvironment: ['BEDROCK_MANTLE_API_KEY', 'AWS_BEARER_TOKEN_BEDROCK'],
    apiBaseEnvironment: ['BEDROCK_MANTLE_API_BASE'],
    targetOf: mantleTarget,
  }),
];
