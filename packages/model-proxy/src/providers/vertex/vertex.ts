/**
 * Vertex AI: Gemini and partner models at its endpoint with OpenAI's API, models of Mistral and AI21 at paths of
 * these publishers, and models of customers at their endpoints. predict.ts and claude.ts have the other models.
 * Settings and variables have LiteLLM's names.
 * @see https://cloud.google.com/vertex-ai/generative-ai/docs/start/openai
 * @see https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/mistral
 */
import { openaiApiProvider } from '../openai/openai.js';
import { thinkingTranslation } from '../openai/thinking.js';
import type { Provider } from '../provider.js';
import type { ProviderTarget, TargetOf } from '../target.js';
import { claudeTarget } from './claude.js';
import { NEEDS_PROJECT, predictTarget } from './predict.js';

/** LiteLLM's location for deployments without `vertex_location`, if `VERTEXAI_LOCATION` is not set either. */
const DEFAULT_LOCATION = 'us-central1';

/** Publishers whose models have OpenAI's API at a path of the publisher. */
const rawPublishers: readonly (readonly [pattern: RegExp, publisher: string])[] = [
  [/^(?:codestral|mistral|ministral)(?!-ocr)/, 'mistralai'],
  [/^jamba/, 'ai21'],
];

/** Models whose APIs the proxy does not support. */
const foreignModels: readonly (readonly [pattern: RegExp, api: string])[] = [
  [/^imagetext/, 'the API of Imagen for captions'],
  [/^veo-/, 'the API of Veo'],
  [/^mistral-ocr/, 'the API for OCR'],
  [/-live\b/, 'the Live API of Gemini'],
  [/^agent_engine\//, 'the API of Agent Engine'],
  [/^(?:text|chat|code|codechat)-(?:bison|unicorn)|^medlm/, 'the API of PaLM'],
  [/^search_api|^rag/, 'the API of Vertex AI Search'],
];

const vertexTarget: TargetOf = ({ apiBase, model, value }) => {
  const foreign = foreignModels.find(([pattern]) => pattern.test(model));
  if (foreign !== undefined) return `vertex_ai/${model} has ${foreign[1]}, which is not implemented`;
  const project = value('vertex_project', 'VERTEXAI_PROJECT', 'GOOGLE_CLOUD_PROJECT');
  // A configured address without a path replaces Google's host, as in LiteLLM.
  const host = apiBase === null || new URL(apiBase).pathname === '/' ? apiBase : undefined;
  if (project === undefined && host !== undefined) return NEEDS_PROJECT;
  const location = value('vertex_location', 'VERTEXAI_LOCATION') ?? DEFAULT_LOCATION;
  const address = `${host ?? `https://${hostOf(location)}`}/v1beta1/projects/${project}/locations/${location}`;
  const base = host === undefined && apiBase !== null ? apiBase : address;
  const token = {
    kind: 'google',
    issuer: 'Google',
    credentials:
      value('vertex_credentials', 'VERTEXAI_CREDENTIALS') ?? value(null, 'GOOGLE_APPLICATION_CREDENTIALS') ?? null,
  } as const;
  const paths = predictTarget(model, { base, apiBase, project, location }) ?? pathsOf(model, base, host === undefined);
  if (typeof paths === 'string') return paths;
  return { apiKey: null, token, ...paths };
};

/** Locations with several regions. */
const multiRegions: ReadonlySet<string> = new Set(['us', 'eu']);

/** @see https://docs.cloud.google.com/vertex-ai/generative-ai/docs/learn/locations */
function hostOf(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  return multiRegions.has(location)
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`;
}

type Paths = Pick<ProviderTarget, 'api' | 'apiBase' | 'upstreamModel' | 'pathOf'>;

/**
 * Returns a model's paths.
 * @param isComplete whether `base` is configured. Then it already names the endpoint, except for models with a path of
 *   their publisher.
 */
function pathsOf(model: string, base: string, isComplete: boolean): Paths {
  if (model.startsWith('claude-')) return { ...claudeTarget, apiBase: base };
  const [, publisher] = rawPublishers.find(([pattern]) => pattern.test(model)) ?? [];
  if (publisher !== undefined) {
    const method = (streams: boolean) => (streams ? 'streamRawPredict' : 'rawPredict');
    return {
      apiBase: base,
      // The body has the model's name without its version.
      upstreamModel: model.replace(/@.*$/, ''),
      pathOf: (_path, { streams }) => `publishers/${publisher}/models/${encodeURIComponent(model)}:${method(streams)}`,
    };
  }
  const name = model.replace(/^(?:openai|gemini)\/(?=\d+$)/, '');
  if (isComplete) return { apiBase: base, upstreamModel: qualified(model) };
  // A number is the endpoint of a customer's model.
  if (/^\d+$/.test(name)) return { apiBase: `${base}/endpoints/${name}` };
  return { apiBase: `${base}/endpoints/openapi`, upstreamModel: qualified(model) };
}

/** Returns the name with its publisher, as the endpoint expects it: `google` if the name has none. */
const qualified = (model: string) => (model.includes('/') ? model : `google/${model}`);

const vertexProvider = (name: string) =>
  openaiApiProvider({
    name,
    exceptionName: 'VertexAIException',
    apiBaseEnvironment: ['VERTEXAI_API_BASE'],
    targetOf: vertexTarget,
    translation: thinkingTranslation,
  });

/** The providers of Vertex AI. */
export const vertexProviders: readonly Provider[] = [vertexProvider('vertex_ai'), vertexProvider('vertex_ai_beta')];
