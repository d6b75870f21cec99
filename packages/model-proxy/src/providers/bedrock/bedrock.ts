/**
 * Amazon Bedrock: the Converse API, InvokeModel, embeddings, pictures, ranking, agents, and endpoints with
 * OpenAI's API for models of OpenAI.
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html
 */
import { openaiApiProvider } from '../openai/openai.js';
import type { Provider } from '../provider.js';
import type { ModelApi, TargetOf } from '../target.js';
import { configuredRegion, DEFAULT_REGION, signedTarget } from '../aws/signed-target.js';
import { agentApi } from './agents.js';
import { converseApi } from './converse.js';
import { embeddingsApi } from './embeddings.js';
import { imagesApi } from './images.js';
import { claudeInvokeApi, openaiInvokeApi } from './invoke.js';
import { rankingApi } from './ranking.js';

/** Models of OpenAI, also with a prefix for a group of regions (`us.`). */
const openaiModel = /^(?:converse\/)?((?:[a-z-]{2,6}\.)?openai\.[\w.:-]+)$/;

/** A region before the name, as in LiteLLM. */
const regionalModel = /^([a-z]{2}(?:-[a-z]+)+-\d)\/(.+)$/;
const regionOfArn = /^(?:\w+\/)?arn:aws[\w-]*:bedrock:([\w-]+):/;

/** Models of Bedrock whose APIs the proxy does not support. */
const foreignModels: readonly (readonly [pattern: RegExp, api: string])[] = [
  [/^agentcore\//, "Bedrock's AgentCore"],
  [/embed|^twelvelabs\./, 'embeddings of this model'],
  [/^(?:[a-z]{2,6}\.)?stability\./, 'edits of pictures'],
  [/nova-reel|nova-sonic|nova-2-sonic/, 'videos or speech'],
];

/** LiteLLM's prefixes for imported models that the proxy calls with Converse. */
const imported = /^(?:llama|deepseek_r1|nova)\/(?=arn:)/;
const importedWithOpenai = /^(?:openai|qwen[23])\/(?=arn:)/;

/** The API of a model, its name, and the host of the API. */
interface Choice {
  readonly api: ModelApi;
  readonly upstreamModel: string;
  /** Absent: {@link RUNTIME}. */
  readonly host?: string;
}

/** Selects the API of a model. @param name without a region. @returns a string: the API that is not implemented. */
function apiOf(name: string, region: string): Choice | string {
  if (importedWithOpenai.test(name))
    return { api: openaiInvokeApi, upstreamModel: name.replace(importedWithOpenai, '') };
  const plain = name.replace(imported, '').replace(/^invoke\//, '');
  // For all other chat models with the prefix `invoke/`, the proxy uses Converse, which gives the same answers.
  if (name.startsWith('invoke/') && plain.includes('claude')) return { api: claudeInvokeApi, upstreamModel: plain };
  if (plain.includes('rerank')) return { api: rankingApi(region), upstreamModel: plain, host: AGENT_RUNTIME };
  if (name.startsWith('agent/'))
    return { api: agentApi, upstreamModel: name.slice('agent/'.length), host: AGENT_RUNTIME };
  const api = embeddingsApi(plain) ?? imagesApi(plain);
  if (api !== undefined) return { api, upstreamModel: plain };
  const foreign = foreignModels.find(([pattern]) => pattern.test(plain));
  return foreign === undefined ? { api: converseApi, upstreamModel: plain } : foreign[1];
}

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
  const region = configuredRegion(settings) ?? regionInName ?? regionOfArn.exec(regionless)?.[1] ?? DEFAULT_REGION;
  const choice = apiOf(regionless, region);
  if (typeof choice === 'string') return `bedrock/${model} has ${choice}, which is not implemented`;
  const { api, upstreamModel, host = RUNTIME } = choice;
  const target = {
    apiBase: base === null ? addressOf(region, host) : base.replace(RUNTIME, host),
    upstreamModel: value('model_id') ?? upstreamModel,
    api,
  };
  if (hasApiKey) return target;
  // Many configurations have `model: "*"`, but no account at AWS. So a missing account only disables the model.
  return (
    signedTarget(target, { service: 'bedrock', region }, settings) ??
    'bedrock needs an access key, a profile or a role of AWS'
  );
};

const RUNTIME = 'bedrock-runtime';
const AGENT_RUNTIME = 'bedrock-agent-runtime';
const addressOf = (region: string, host = RUNTIME) => `https://${host}.${region}.amazonaws.com`;

const mantleTarget: TargetOf = (settings) => {
  const region = settings.value(null, 'BEDROCK_MANTLE_REGION') ?? configuredRegion(settings) ?? DEFAULT_REGION;
  return { apiBase: settings.apiBase ?? `https://bedrock-mantle.${region}.api.aws/v1` };
};

const bedrockProvider = (name: string): Provider =>
  openaiApiProvider({
    name,
    exceptionName: 'BedrockException',
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
