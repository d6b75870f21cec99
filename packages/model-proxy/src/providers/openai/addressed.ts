/**
 * Providers with OpenAI's API that differ in more than their address: in how the address is derived,
 * in the header of the key, or in parameters. The names of settings and variables are LiteLLM's.
 */
import type { Provider } from '../provider.js';
import { segmentOf, type TargetOf } from '../target.js';
import { geminiSpeech } from '../vertex/gemini-speech.js';
import { apiWith, speechModel } from '../vertex/predict.js';
import { openaiApiProvider } from './openai.js';
import { thinkingTranslation } from './thinking.js';

/** Adds a path to an address, unless the address ends with it. */
const below = (apiBase: string, path: string) => (apiBase.endsWith(path) ? apiBase : `${apiBase}${path}`);

/**
 * Ollama's address is configured without `/v1`, because Ollama's own API has no version.
 * OpenAI's API is below `/v1`, so the proxy adds this path.
 * @see https://github.com/ollama/ollama/blob/main/docs/openai.md
 */
const ollamaTarget: TargetOf = ({ apiBase }) => ({ apiBase: below(apiBase ?? OLLAMA, '/v1') });
const OLLAMA = 'http://localhost:11434';

const ollamaProvider = (name: string) =>
  openaiApiProvider({
    name,
    apiKeyEnvironment: ['OLLAMA_API_KEY'],
    apiBaseEnvironment: ['OLLAMA_API_BASE'],
    defaultApiBase: `${OLLAMA}/v1`,
    targetOf: ollamaTarget,
  });

/** As in LiteLLM, `/v1` may be missing in a configured address, such as that of Mistral's models at Azure. */
const mistralTarget: TargetOf = ({ apiBase }) => (apiBase === null ? null : { apiBase: below(apiBase, '/v1') });

/**
 * Cohere serves OpenAI's API at another address than its own rerank API. A configured address may end with the
 * path of an operation, which the proxy removes.
 * @see https://docs.cohere.com/docs/compatibility-api and https://docs.cohere.com/reference/rerank
 */
const cohereTarget: TargetOf = ({ apiBase, model }) => {
  const configured = apiBase?.replace(/\/(rerank|chat|embed)$/, '');
  // Cohere's own API is at the same hosts: https://api.cohere.com/v2.
  if (configured === undefined || cohereHost.test(configured))
    return { apiBase: model.startsWith('rerank') ? COHERE_RERANK : COHERE };
  const isVersioned = /\/v[12]$/.test(configured);
  return { apiBase: configured, pathOf: (path) => (path === 'rerank' && !isVersioned ? `v2/${path}` : path) };
};
const cohereHost = /^https:\/\/api\.cohere\.(?:com|ai)(?:\/v[12])?$/;
const COHERE = 'https://api.cohere.ai/compatibility/v1';
const COHERE_RERANK = 'https://api.cohere.com/v2';

const cohereProvider = (name: string) =>
  openaiApiProvider({
    name,
    exceptionName: 'CohereException',
    apiKeyEnvironment: ['COHERE_API_KEY', 'CO_API_KEY'],
    apiBaseEnvironment: ['COHERE_API_BASE'],
    defaultApiBase: COHERE,
    targetOf: cohereTarget,
  });

/** Matches the name of a model after one of Hugging Face's vendors, such as `together/deepseek-ai/DeepSeek-R1`. */
const huggingfaceVendor = /^([a-z0-9-]+)\/([^/]+\/[^/:]+)$/;

/**
 * Without an address, the router of Hugging Face serves the model. The router selects the vendor by a suffix
 * (`name:vendor`), so a vendor before the name becomes the suffix. A configured address gets the name unchanged. It
 * is usually that of an inference endpoint, which serves OpenAI's API below `/v1`, and rankings beside it.
 * @see https://huggingface.co/docs/inference-providers and https://huggingface.co/docs/inference-endpoints
 */
const huggingfaceTarget: TargetOf = ({ apiBase, model }) => {
  if (apiBase !== null) {
    const pathOf = (path: string) => (path === 'rerank' ? path : `v1/${path}`);
    return completeAddress.test(apiBase) ? { apiBase } : { apiBase, pathOf };
  }
  const [, vendor, name] = huggingfaceVendor.exec(model) ?? [];
  const own = { apiBase: HUGGINGFACE };
  return vendor === undefined || name === undefined ? own : { ...own, upstreamModel: `${name}:${vendor}` };
};
/** Matches an address that already has the version, or the path of an endpoint. */
const completeAddress = /\/(?:v1|chat\/completions|completions|embeddings|rerank)$/;
const HUGGINGFACE = 'https://router.huggingface.co/v1';

/** @see https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/ */
const cloudflareTarget: TargetOf = ({ apiBase, value }) => {
  // LiteLLM's older address ends with `/ai/run/`, the path of Cloudflare's own API. `apiBase` has no final slash.
  if (apiBase !== null) return { apiBase: apiBase.replace(/\/ai\/run$/, '/ai/v1') };
  const account = value('account_id', 'CLOUDFLARE_ACCOUNT_ID');
  if (account === undefined) return null;
  return { apiBase: `https://api.cloudflare.com/client/v4/accounts/${encodeURIComponent(account)}/ai/v1` };
};

/** @see https://docs.databricks.com/aws/en/machine-learning/model-serving/score-foundation-models */
const databricksTarget: TargetOf = ({ apiBase }) => {
  if (apiBase === null) return null;
  return { apiBase: new URL(apiBase).pathname === '/' ? below(apiBase, '/serving-endpoints') : apiBase };
};

/**
 * A deployment of Predibase has an address of its own, with the tenant and the model.
 * @see https://docs.predibase.com/user-guide/inference/migrate-openai
 */
const predibaseTarget: TargetOf = ({ apiBase, model, value }) => {
  if (model.includes('*')) return 'each model of predibase has its own address, so a wildcard is not possible';
  const tenant = value('tenant_id', 'PREDIBASE_TENANT_ID');
  if (tenant === undefined) return 'predibase needs tenant_id, or PREDIBASE_TENANT_ID';
  const [host, account, name] = [apiBase ?? PREDIBASE, encodeURIComponent(tenant), encodeURIComponent(model)];
  // The address names the model, so the member `model` is empty. Any other value would select an adapter.
  return { apiBase: `${host}/${account}/deployments/v2/llms/${name}/v1`, upstreamModel: '' };
};
const PREDIBASE = 'https://serving.app.predibase.com';

/** @see https://docs.snowflake.com/en/user-guide/snowflake-cortex/open_ai_sdk */
const snowflakeTarget: TargetOf = ({ apiBase, value }) => {
  const account = value('account_id', 'SNOWFLAKE_ACCOUNT_ID');
  if (apiBase === null && account === undefined) return null;
  const host = apiBase === null ? `https://${account}.snowflakecomputing.com` : new URL(apiBase).origin;
  return { apiBase: `${host}/api/v2/cortex/v1` };
};

/** The header with the key for Gemini's own API. */
const geminiHeaders = (apiKey: string | null): Record<string, string> =>
  apiKey === null ? {} : { 'x-goog-api-key': apiKey };

/** Matches the end of Gemini's addresses: the version (`/v1beta`), also with the path of the OpenAI API (`/openai`). */
export const geminiPath = /(\/v1(?:alpha|beta)?)(?:\/openai)?$/;

/**
 * Gemini's OpenAI API has a path below Gemini's own API. The OpenAI API has no speech, so models for speech use
 * Gemini's own API.
 */
const geminiTarget: TargetOf = ({ apiBase, model }) => {
  // In LiteLLM, a configured address is that of Gemini's own API.
  const address = (apiBase ?? GEMINI).replace(geminiPath, '$1/openai');
  if (!speechModel.test(model)) return { apiBase: address };
  const api = apiWith('audio/speech', geminiSpeech(`models/${segmentOf(model)}:generateContent`));
  return { apiBase: address.replace(/\/openai$/, ''), api: { ...api, headers: geminiHeaders } };
};
const GEMINI = 'https://generativelanguage.googleapis.com/v1beta/openai';

/** @see https://ai.google.dev/gemini-api/docs/openai and https://ai.google.dev/api */
const gemini: Provider = {
  ...openaiApiProvider({
    name: 'gemini',
    apiKeyEnvironment: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    apiBaseEnvironment: ['GEMINI_API_BASE'],
    defaultApiBase: GEMINI,
    targetOf: geminiTarget,
    translation: thinkingTranslation,
  }),
  nativeHeaders: geminiHeaders,
};

/** All providers of this file. */
export const addressed: readonly Provider[] = [
  ollamaProvider('ollama'),
  ollamaProvider('ollama_chat'),
  openaiApiProvider({
    name: 'mistral',
    apiKeyEnvironment: ['MISTRAL_AZURE_API_KEY', 'MISTRAL_API_KEY'],
    apiBaseEnvironment: ['MISTRAL_AZURE_API_BASE'],
    defaultApiBase: 'https://api.mistral.ai/v1',
    targetOf: mistralTarget,
  }),
  cohereProvider('cohere'),
  cohereProvider('cohere_chat'),
  gemini,
  openaiApiProvider({
    name: 'huggingface',
    apiKeyEnvironment: ['HF_TOKEN', 'HUGGINGFACE_API_KEY'],
    apiBaseEnvironment: ['HF_API_BASE', 'HUGGINGFACE_API_BASE'],
    defaultApiBase: HUGGINGFACE,
    targetOf: huggingfaceTarget,
  }),
  openaiApiProvider({
    name: 'cloudflare',
    apiKeyEnvironment: ['CLOUDFLARE_API_KEY'],
    apiBaseEnvironment: ['CLOUDFLARE_API_BASE'],
    targetOf: cloudflareTarget,
  }),
  openaiApiProvider({
    name: 'databricks',
    apiKeyEnvironment: ['DATABRICKS_API_KEY'],
    apiBaseEnvironment: ['DATABRICKS_API_BASE'],
    targetOf: databricksTarget,
  }),
  openaiApiProvider({
    name: 'predibase',
    apiKeyEnvironment: ['PREDIBASE_API_KEY'],
    apiBaseEnvironment: ['PREDIBASE_API_BASE'],
    targetOf: predibaseTarget,
  }),
  openaiApiProvider({
    name: 'snowflake',
    apiKeyEnvironment: ['SNOWFLAKE_JWT', 'SNOWFLAKE_API_KEY'],
    apiBaseEnvironment: ['SNOWFLAKE_API_BASE'],
    targetOf: snowflakeTarget,
  }),
  /** @see https://docs.sarvam.ai/api-reference-docs/chat/chat-completions */
  openaiApiProvider({
    name: 'sarvam',
    apiKeyEnvironment: ['SARVAM_API_KEY'],
    defaultApiBase: 'https://api.sarvam.ai/v1',
    keyHeader: 'api-subscription-key',
  }),
];
