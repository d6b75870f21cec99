/**
 * Amazon Bedrock: the Converse API, and endpoints with OpenAI's API for models of OpenAI.
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html
 */
import { openaiApiProvider } from '../openai/openai.js';
import type { Provider } from '../provider.js';
import type { ProviderTarget, TargetOf, TargetSettings } from '../target.js';
import { converseApi } from './converse.js';

/** LiteLLM's region for deployments without `aws_region_name`. */
const DEFAULT_REGION = 'us-west-2';

const configuredRegion = ({ value }: TargetSettings) =>
  value('aws_region_name', 'AWS_REGION_NAME', 'AWS_REGION', 'AWS_DEFAULT_REGION');

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
  return signedTarget(target, region, settings) ?? 'bedrock needs an access key of AWS, or a profile';
};

const addressOf = (region: string) => `https://bedrock-runtime.${region}.amazonaws.com`;

/** Adds the source of the keys for signatures. @returns null: a wildcard without keys and profile. */
function signedTarget(target: ProviderTarget, region: string, { model, value }: TargetSettings): ProviderTarget | null {
  const accessKeyId = value('aws_access_key_id', 'AWS_ACCESS_KEY_ID');
  const secretAccessKey = value('aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY');
  const ownProfile = value('aws_profile_name');
  const profile = ownProfile ?? value(null, 'AWS_PROFILE');
  const sessionToken = value('aws_session_token', 'AWS_SESSION_TOKEN') ?? null;
  const keys =
    ownProfile === undefined && accessKeyId !== undefined && secretAccessKey !== undefined
      ? { accessKeyId, secretAccessKey, sessionToken }
      : null;
  if (model.includes('*') && keys === null && profile === undefined) return null;
  const files = {
    credentials: value(null, 'AWS_SHARED_CREDENTIALS_FILE') ?? null,
    config: value(null, 'AWS_CONFIG_FILE') ?? null,
  };
  const token = {
    kind: 'aws' as const,
    issuer: 'AWS',
    service: 'bedrock',
    region,
    keys,
    profile: profile ?? 'default',
    files,
  };
  return { ...target, apiKey: null, token };
}

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
