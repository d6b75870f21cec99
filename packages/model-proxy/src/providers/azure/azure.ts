/**
 * Azure OpenAI and Azure AI (Foundry), with LiteLLM's names of settings and variables.
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/reference
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 * @see https://learn.microsoft.com/azure/ai-foundry/foundry-models/how-to/inference
 */
import { claudeApi, withoutMessages } from '../anthropic/anthropic.js';
import { openaiApiProvider } from '../openai/openai.js';
import { checkedParameters, isOpenaiModel } from '../parameters.js';
import type { Provider } from '../provider.js';
import { segmentOf, type ProviderTarget, type TargetOf, type TargetSettings } from '../target.js';
import { entraToken, federatedToken } from './entra-token.js';
import { picturesTarget } from './pictures.js';
import { speechApi, speechBase } from './speech.js';

/** LiteLLM's version for deployments without `api_version`. */
const DEFAULT_VERSION = '2025-02-01-preview';

/** Values of `api_version` that select `/openai/v1`, whose requests need no version. */
const undatedVersions: ReadonlySet<string> = new Set(['v1', 'latest', 'preview']);

/**
 * Matches the URL of a deployment, which Azure's portal shows. It contains the name of the deployment, which may
 * differ from the model's name in the configuration.
 */
const deploymentUrl = /^(.*\/openai)\/deployments\/([^/]+)(?:\/.*)?$/;

/** Prefixes with which LiteLLM marks the kind of a deployment. */
const markedModel = /^(o_series|gpt5_series|responses)\//;

/** Parameters of reasoning models. With LiteLLM's prefix for such models, a deployment of any name supports them. */
const reasoningParameters = ['reasoning_effort', 'verbosity', 'safety_identifier', 'prompt_cache_key', 'service_tier'];

type Credentials = Pick<ProviderTarget, 'headers' | 'token' | 'apiKey'>;

/**
 * Returns how requests authenticate without a key. Empty: with the key, or not at all. A string: the fault of a
 * setting.
 */
function credentialsOf(settings: TargetSettings): Credentials | string {
  const { apiKey, value } = settings;
  if (apiKey !== null) return {};
  const token = value('azure_ad_token') ?? value(null, 'AZURE_AD_TOKEN');
  if (token?.startsWith('oidc/') === true) {
    const federated = federatedToken(token, settings);
    return typeof federated === 'string' ? federated : { apiKey: null, token: federated };
  }
  if (token !== undefined) return { apiKey: null, headers: { authorization: `Bearer ${token}` } };
  const entra = entraToken(settings);
  return entra === null ? {} : { apiKey: null, token: entra };
}

/**
 * Returns a query with a version. Keeps other parameters of `api_base`: gateways such as Azure API Management may
 * require them.
 */
function versionQuery(query: string | null, version: string): string {
  const others = query?.split('&').filter((pair) => pair !== '' && !pair.startsWith('api-version=')) ?? [];
  return [`api-version=${encodeURIComponent(version)}`, ...others].join('&');
}

const azureTarget: TargetOf = (settings) => {
  const { apiBase, model, query, value } = settings;
  if (apiBase === null) return null;
  if (model.startsWith('speech/')) return { apiBase: speechBase(apiBase), api: speechApi, query };
  const credentials = credentialsOf(settings);
  if (typeof credentials === 'string') return credentials;
  const isReasoning = (markedModel.exec(model)?.[1] ?? '').includes('_series');
  const common = {
    ...credentials,
    upstreamModel: model.replace(markedModel, ''),
    ...(isReasoning ? { parameters: reasoningParameters } : {}),
  };
  const configured = queryVersion(query) ?? value('api_version', 'AZURE_API_VERSION');
  const version = configured ?? DEFAULT_VERSION;
  const [, openaiBase, deployment] = deploymentUrl.exec(apiBase) ?? [];
  if (openaiBase === undefined && (undatedVersions.has(version) || apiBase.endsWith('/openai/v1'))) {
    const target = { ...common, apiBase: `${apiBase.replace(/\/openai(\/v1)?$/, '')}/openai/v1`, query };
    if (queryVersion(query) !== undefined || !undatedVersions.has(version)) return target;
    // As in LiteLLM. Without a version, Azure uses `v1`, which lacks the features of the preview.
    const isVersioned = (path: string) => /^(?:images|responses)(?:\/|$)/.test(path);
    return { ...target, pathOf: (path) => (isVersioned(path) ? `${path}?${versionQuery(query, version)}` : path) };
  }
  return {
    ...common,
    apiBase: openaiBase ?? `${apiBase.replace(/\/openai$/, '')}/openai`,
    query: versionQuery(query, version),
    pathOf: (path, { model: name }) => {
      if (!path.startsWith('responses')) return `deployments/${deployment ?? segmentOf(name)}/${path}`;
      // The default version is older than the paths of `responses`, so they use the preview of the API `v1`.
      return configured === undefined ? `v1/${path}?${versionQuery(query, 'preview')}` : path;
    },
  };
};

function queryVersion(query: string | null): string | undefined {
  return new URLSearchParams(query ?? '').get('api-version') ?? undefined;
}

/** Azure OpenAI with the same list of parameters for all deployments. */
const listedAzure = openaiApiProvider({
  name: 'azure',
  exceptionName: 'AzureException',
  apiKeyEnvironment: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
  apiBaseEnvironment: ['AZURE_API_BASE'],
  keyHeader: 'api-key',
  targetOf: azureTarget,
});

const azure: Provider = {
  ...listedAzure,
  // Many deployments at Azure have the same name as their model. So a name of OpenAI's models allows all parameters.
  supportedParameters: (endpoint, upstreamModel) =>
    isOpenaiModel(upstreamModel)
      ? checkedParameters(endpoint)
      : listedAzure.supportedParameters(endpoint, upstreamModel),
};

/** Models of Azure AI whose APIs the proxy does not support. */
const foreignModels: readonly (readonly [pattern: RegExp, api: string])[] = [
  [/^agents\//, 'the API of Azure AI Agents'],
  [/^doc-intelligence\//, 'the API of Azure Document Intelligence'],
];

/**
 * Addresses of resources without a path, also in the clouds of the US government and of China. Their inference API has
 * the path `/models`.
 */
const foundryHost = /^https:\/\/[^/]+\.services\.ai\.azure\.(?:com|us|cn)$/;

/** Addresses of resources. All others, such as serverless deployments and gateways, expect the key as a bearer token. */
const resourceHost = /^https:\/\/[^/]+\.(?:services\.ai|openai|cognitiveservices)\.azure\.(?:com|us|cn)(?:\/|$)/;

function bearerKey({ apiKey, value }: TargetSettings): Credentials {
  const key = apiKey ?? value(null, 'AZURE_AI_API_KEY');
  return key === undefined ? {} : { apiKey: null, headers: { authorization: `Bearer ${key}` } };
}

/** The version for chats and embeddings without `api_version`. The inference API of Foundry requires a version. */
const FOUNDRY_VERSION = '2024-05-01-preview';

/** The version for edits of images, as in LiteLLM. Earlier versions of Azure OpenAI have no edits. */
const EDITS_VERSION = '2025-04-01-preview';

/** The version for FLUX 2 and MAI-Image. LiteLLM sends it for edits. */
const PICTURES_VERSION = 'preview';

/** Returns the path for images. The inference API makes none, so all models for images have Azure OpenAI's paths. */
function imagesPath(path: string, model: string, query: string | null, configured: string | undefined): string {
  const version = configured ?? (path === 'images/edits' ? EDITS_VERSION : DEFAULT_VERSION);
  const parent = undatedVersions.has(version) ? 'openai/v1' : `openai/deployments/${segmentOf(model)}`;
  return `${parent}/${path}?${versionQuery(query, version)}`;
}

const azureAiTarget: TargetOf = (settings) => {
  const { apiBase, query, value } = settings;
  // A model router chooses the model. The prefix is LiteLLM's.
  const model = settings.model.replace(/^model_router\//, '');
  const foreign = foreignModels.find(([pattern]) => pattern.test(model));
  if (foreign !== undefined) return `azure_ai/${model} has ${foreign[1]}, which is not implemented`;
  if (apiBase === null) return null;
  // A URL of Azure OpenAI.
  if (deploymentUrl.test(apiBase) || apiBase.endsWith('/openai/v1')) return azureTarget({ ...settings, model });
  const credentials = credentialsOf(settings);
  if (typeof credentials === 'string') return credentials;
  // https://learn.microsoft.com/azure/ai-foundry/foundry-models/how-to/use-foundry-models-claude
  if (model.startsWith('claude-')) {
    const address = withoutMessages(apiBase).replace(/\/anthropic$/, '');
    return { ...credentials, api: claudeApi, apiBase: `${address}/anthropic/v1`, query };
  }
  // As in LiteLLM, the variable has an effect only on images.
  const imagesVersion = queryVersion(query) ?? value('api_version', 'AZURE_AI_API_VERSION');
  const pictures = picturesTarget(apiBase, model);
  if (pictures !== undefined)
    return { ...credentials, ...pictures, query: versionQuery(query, imagesVersion ?? PICTURES_VERSION) };
  const isInference = foundryHost.test(apiBase) || apiBase.endsWith('/models');
  const version = queryVersion(query) ?? value('api_version') ?? (isInference ? FOUNDRY_VERSION : undefined);
  const resource = apiBase.replace(/\/(?:models|rerank)$/, '');
  return {
    ...credentials,
    ...(!resourceHost.test(apiBase) && credentials.apiKey === undefined ? bearerKey(settings) : {}),
    upstreamModel: model,
    apiBase: resource,
    query,
    pathOf: (path, { model: name }) => {
      // Cohere's API for rankings, whose version may be a part of the address.
      if (path === 'rerank') return /\/v[12]$/.test(resource) ? path : `v1/${path}`;
      if (path.startsWith('images/')) return imagesPath(path, name, query, imagesVersion);
      const own = isInference ? `models/${path}` : path;
      return version === undefined ? own : `${own}?${versionQuery(query, version)}`;
    },
  };
};

/** Azure AI: models of other vendors. */
const azureAi = openaiApiProvider({
  name: 'azure_ai',
  exceptionName: 'Azure_aiException',
  apiKeyEnvironment: ['AZURE_AI_API_KEY'],
  apiBaseEnvironment: ['AZURE_AI_API_BASE'],
  keyHeader: 'api-key',
  targetOf: azureAiTarget,
});

/** The providers of Azure. */
export const azureProviders: readonly Provider[] = [azure, azureAi];
