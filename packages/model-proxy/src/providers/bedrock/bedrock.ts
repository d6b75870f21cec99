/**
 * Amazon Bedrock: the Converse API, and endpoints with OpenAI's API for models of OpenAI.
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html
 */
import { openaiApiProvider } from '../openai/openai.js';
import type { Provider } from '../provider.js';
import type { TargetOf } from '../target.js';
import { configuredRegion, DEFAULT_REGION, signedTarget } from '../aws/signed-target.js';
import { converseApi } from './converse.js';

/** Models of OpenAI, also in a profile of a region. LiteLLM's prefix selects another API for them. */
const openaiModel = /^(?:converse\/)?((?:[a-z-]{2,6}\.)?openai\.[\w.:-]+)$/;

/** A region before the name, as in LiteLLM. */
const regionalModel = /^([a-z]{2}(?:-[a-z]+)+-\d)\/(.+)$/;
const regionOfArn = /^arn:aws[\w-]*:bedrock:([\w-]+):/;

/** Names whose models have no Converse API. */
const foreignModels: readonly (readonly [pattern: RegExp, api: string])[] = [
  [/^(?:invoke|openai|llama|deepseek_r1|nova|qwen[23])\//, "InvokeModel with the model's own form"],
  [/^(?:agent|agentcore)\//, "Bedrock's agents"],
  [/embed|^twelvelabs\./, 'embeddings'],
  [/rerank/, 'ranking'],
  [/^(?:[a-z]{2,6}\.)?stability\.|image|canvas|nova-reel|nova-sonic|nova-2-sonic/, 'pictures, videos or speech'],
];

const bedrockTarget: TargetOf = (settings) => {
  const { model, apiKey, apiBase, value } = settings;
  const [, openaiName] = openaiModel.exec(model) ?? [];
  const hasApiKey = apiKey !== null || value(null, 'AWS_BEARER_TOKEN_BEDROCK') !== undefined;
  const base = apiBase ?? value('aws_bedrock_runtime_endpoint') ?? null;
  if (openaiName !== undefined && hasApiKey) {
    const address = base ?? addressOf(configuredRegion(settings) ?? DEFAULT_REGION);
    return { apiBase: `${address.replace(/\/openai\/v1$/, '')}/openai/v1`, upstreamModel: openaiName };
  }
  const [, regionInName, regionless = model.replace(/^converse\//, '')] =
    regionalModel.exec(model.replace(/^converse\//, '')) ?? [];
  const foreign = foreignModels.find(([pattern]) => pattern.test(regionless));
  if (foreign !== undefined) return `bedrock/${model} has ${foreign[1]}, which is not implemented`;
  const region = configuredRegion(settings) ?? regionInName ?? regionOfArn.exec(regionless)?.[1] ?? DEFAULT_REGION;
  const target = { apiBase: base ?? addressOf(region), upstreamModel: regionless, api: converseApi };
  if (hasApiKey) return target;
  // Many configurations have `model: "*"`, but no account at AWS.
  return (
    signedTarget(target, { service: 'bedrock', region }, settings) ?? 'bedrock needs an access key of AWS, or a profile'
  );
};

const addressOf = (region: string) => `https://bedrock-runtime.${region}.amazonaws.com`;

const mantleTarget: TargetOf = (settings) => {
  const region = settings.value(null, 'BEDROCK_MANTLE_REGION') ?? configuredRegion(settings) ?? DEFAULT_REGION;
  return { apiBase: settings.apiBase ?? `https://bedrock-mantle.${region}.api.aws/v1` };
};

const bedrockProvider = (name: string): Provider =>
  openaiApiProvider({
    name,
    displayName: 'BedrockException',
    apiKeyEnvironment: ['AWS_BEARER_TOKEN_BEDROCK'],
    apiBaseEnvironment: ['AWS_BEDROCK_RUNTIME_ENDPOINT'],
    targetOf: bedrockTarget,
  });

/** The providers of Bedrock. */
export const bedrockProviders: readonly Provider[] = [
  bedrockProvider('bedrock'),
  bedrockProvider('bedrock_converse'),
  openaiApiProvider({
    name: 'bedrock_mantle',
    apiKeyEnvironment: ['BEDROCK_MANTLE_API_KEY', 'AWS_BEARER_TOKEN_BEDROCK'],
    apiBaseEnvironment: ['BEDROCK_MANTLE_API_BASE'],
    targetOf: mantleTarget,
  }),
];
