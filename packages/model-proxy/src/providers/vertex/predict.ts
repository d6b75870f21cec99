/**
 * Models of Vertex AI with Google's own APIs: embeddings, Imagen, speech of Gemini, customers' Gemma, and ranking.
 * @see https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/imagen-api
 * @see https://cloud.google.com/generative-ai-app-builder/docs/ranking
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import type { Dialect, DialectEndpoint, UpstreamError } from '../dialect.js';
import { supportedParameters, unchecked } from '../parameters.js';
import { jsonMembers, memberValue } from '../request-members.js';
import type { ModelApi, ProviderTarget } from '../target.js';
import { embeddingsEndpoint } from './embeddings.js';
import { geminiSpeech } from './gemini-speech.js';

/** Reads Google's error: `{"error": {"message": …, "status": "INVALID_ARGUMENT"}}`; undefined: it has another form. */
function googleError(_status: number, body: unknown): UpstreamError | undefined {
  const { message, status } = recordOf(recordOf(body)?.['error']) ?? {};
  return textOf(message) === undefined ? undefined : { message: String(message), code: textOf(status) ?? null };
}

/** Makes an API of Google with one endpoint. @param path of OpenAI's API below `/v1/`. */
export function apiWith(path: string, endpoint: DialectEndpoint): ModelApi {
  const dialect: Dialect = { endpoints: new Map([[path, endpoint]]), error: googleError };
  const supported = supportedParameters('vertex_ai', path);
  return { dialect, supportedParameters: (asked) => (asked === path ? supported : unchecked) };
}

/** Imagen's proportions for OpenAI's sizes. Imagen chooses the number of pixels. */
const proportions: ReadonlyMap<unknown, string> = new Map([
  ['1024x1024', '1:1'],
  ['1792x1024', '16:9'],
  ['1024x1792', '9:16'],
  ['1536x1024', '4:3'],
  ['1024x1536', '3:4'],
]);

const images = (path: string): DialectEndpoint => ({
  path: () => path,
  request: (members) => {
    const size = memberValue(members, 'size');
    const aspectRatio = size === undefined || size === 'auto' ? undefined : proportions.get(size);
    if (size !== undefined && size !== 'auto' && aspectRatio === undefined)
      throw invalidParameter('size', `must be one of auto, ${[...proportions.keys()].join(', ')}`);
    const parameters = { sampleCount: memberValue(members, 'n') ?? 1, aspectRatio };
    return new Map(jsonMembers({ instances: [{ prompt: memberValue(members, 'prompt') }], parameters }));
  },
  answer: (value) => {
    const found = recordsOf(recordOf(value)?.['predictions']).map(({ bytesBase64Encoded }) => bytesBase64Encoded);
    if (!found.every((data) => typeof data === 'string')) throw new Error('the answer has no pictures');
    return { value: { created: Math.floor(Date.now() / 1000), data: found.map((data) => ({ b64_json: data })) } };
  },
});

/** Gemma at an endpoint of a customer: OpenAI's request and answer inside of Google's. It has no streams. */
const wrappedChat = (path: string): DialectEndpoint => ({
  path: () => path,
  request: (members, { streams }) => {
    if (streams) throw invalidParameter('stream', 'must be false, because this model has no streams');
    const names = members.names.filter((name) => !['model', 'stream', 'stream_options'].includes(name));
    const request = Object.fromEntries(names.map((name) => [name, memberValue(members, name)]));
    return new Map(jsonMembers({ instances: [{ '@requestFormat': 'chatCompletions', ...request }] }));
  },
  answer: (value) => {
    const { predictions } = recordOf(value) ?? {};
    const completion = recordOf(Array.isArray(predictions) ? predictions[0] : predictions);
    if (!Array.isArray(completion?.['choices'])) throw new Error('the answer has no completion');
    return { value: completion };
  },
});

const ranking = (path: string): DialectEndpoint => ({
  path: () => path,
  request: (members, { model }) => {
    const documents = memberValue(members, 'documents');
    if (!Array.isArray(documents)) throw invalidParameter('documents', 'must be a list');
    const records = documents.map((document: unknown, index) => ({
      id: String(index),
      content: textOf(document) ?? textOf(recordOf(document)?.['text']) ?? '',
    }));
    const [query, topN] = [memberValue(members, 'query'), memberValue(members, 'top_n')];
    return new Map(jsonMembers({ model, query, records, topN, ignoreRecordDetailsInResponse: true }));
  },
  answer: (value) => {
    const records = recordOf(value)?.['records'];
    if (!Array.isArray(records)) throw new Error('the answer has no records');
    const results = recordsOf(records).map(({ id, score }) => ({ index: Number(id), relevance_score: score }));
    return { value: { results, meta: { billed_units: { search_units: 1 } } } };
  },
});

/** Names of Gemini's models for speech. */
export const speechModel = /^gemini.*-tts\b/;

/** The settings that decide the addresses. */
interface AddressSettings {
  /** `apiBase`, or else Google's address with project and location: `https://…/v1beta1/projects/p/locations/l`. */
  readonly base: string;
  /** The configured address; null: Google's. */
  readonly apiBase: string | null;
  /** undefined: not set, which is possible only with a configured address. */
  readonly project: string | undefined;
  readonly location: string;
}

type Target = Pick<ProviderTarget, 'apiBase' | 'api' | 'upstreamModel'>;

/** The fault if the path needs the project, and no setting has it. */
export const NEEDS_PROJECT = 'vertex_ai needs vertex_project, or VERTEXAI_PROJECT';

/**
 * Returns the target of a model that has Google's own API. undefined: the model has another API. A text: the target
 * needs the project.
 */
export function predictTarget(model: string, settings: AddressSettings): Target | string | undefined {
  if (/embedding|gecko|^bge/.test(model))
    return targetOf(model, settings, (pathOf) => apiWith('embeddings', embeddingsEndpoint(model, pathOf)));
  if (/^imagen|^imagegeneration/.test(model))
    return targetOf(model, settings, (pathOf) => apiWith('images/generations', images(pathOf('predict'))));
  if (speechModel.test(model))
    return targetOf(model, settings, (pathOf) => apiWith('audio/speech', geminiSpeech(pathOf('generateContent'))));
  if (model.startsWith('gemma/'))
    return targetOf(model, settings, (pathOf) => apiWith('chat/completions', wrappedChat(pathOf('predict'))));
  if (!model.startsWith('semantic-ranker')) return undefined;
  const { apiBase, project } = settings;
  if (project === undefined) return NEEDS_PROJECT;
  const path = `v1/projects/${project}/locations/global/rankingConfigs/default_ranking_config:rank`;
  return { apiBase: apiBase ?? 'https://discoveryengine.googleapis.com', api: apiWith('rerank', ranking(path)) };
}

/**
 * Returns the target for methods of a model. A configured address without a path belongs to a private
 * endpoint of Google. A configured address with a path names the endpoint, and may end with the method.
 */
function targetOf(
  model: string,
  settings: AddressSettings,
  apiOf: (pathOf: (method: string) => string) => ModelApi,
): Target | string {
  const { apiBase, base, project, location } = settings;
  const name = model.replace(/^(?:bge|gemma)\//, '');
  const endpoint = /^\d+$/.test(name) ? `endpoints/${name}` : `publishers/google/models/${encodeURIComponent(name)}`;
  if (apiBase === null) return { apiBase: base, api: apiOf((method) => `${endpoint}:${method}`) };
  const { origin, pathname } = new URL(apiBase);
  if (pathname === '/') {
    if (project === undefined) return NEEDS_PROJECT;
    return {
      apiBase: origin,
      api: apiOf((method) => `v1/projects/${project}/locations/${location}/${endpoint}:${method}`),
    };
  }
  const [last = '', ...parents] = pathname.slice(1).split('/').reverse();
  const parent = [origin, ...parents.reverse()].join('/');
  return { apiBase: parent, api: apiOf((method) => `${last.replace(/:\w+$/, '')}:${method}`) };
}
