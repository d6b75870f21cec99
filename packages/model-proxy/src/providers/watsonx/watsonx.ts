/**
 * IBM watsonx.ai. Its chat has OpenAI's members, except for the model and the project. Its embeddings and its rerank
 * have members of their own; deployments have neither. All paths differ from OpenAI's.
 * @see https://cloud.ibm.com/apidocs/watsonx-ai
 * @see https://cloud.ibm.com/docs/account?topic=account-iamtoken_from_apikey
 */
import { parseWithinLimits } from '../../json/parse-within-limits.js';
import { EventReader, type ServerSentEvent } from '../../sse/event-reader.js';
import { invalidParameter } from '../../errors/model.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import type { DialectEndpoint, DialectEvents, DialectStream, UpstreamError } from '../dialect.js';
import { openaiApiProvider } from '../openai/openai.js';
import { passedAnswer, PassedChunks } from '../openai/passed-chat.js';
import type { Provider } from '../provider.js';
import { jsonMembers, memberValue } from '../request-members.js';
import { supportedParameters, unchecked } from '../parameters.js';
import { segmentOf, type ModelApi, type ProviderTarget, type TargetOf, type TargetSettings } from '../target.js';

/** LiteLLM's version of the API. */
const VERSION = '2024-03-13';
const TOKEN_SERVER = 'https://iam.cloud.ibm.com/identity/token';
const KEYS = ['WATSONX_APIKEY', 'WATSONX_API_KEY', 'WX_API_KEY'] as const;

/** Where the model runs. The project or space is a member of the body; a deployment is a part of the path. */
interface Place {
  readonly project_id?: string;
  readonly space_id?: string;
  /** The id of a deployment of watsonx. Absent: the request is for a model of IBM. */
  readonly deployment?: string;
}

/** Translates one stream. Streams of watsonx end without `[DONE]`: a `finish_reason` shows that they are complete. */
class ChatStream implements DialectStream {
  readonly #reader = new EventReader();
  readonly #chunks = new PassedChunks();

  push(chunk: Buffer): DialectEvents {
    return this.#read(this.#reader.push(chunk));
  }

  finish(): DialectEvents {
    const { events } = this.#read(this.#reader.finish());
    return { ...this.#chunks.finish(), events };
  }

  #read(received: readonly ServerSentEvent[]): DialectEvents {
    const values = received.map(({ data }) => parseWithinLimits(data));
    const failed = values.map((value) => errorIn(value)).find((error) => error !== undefined);
    return failed === undefined ? this.#chunks.read(values) : { events: [], isDone: false, error: failed };
  }
}

/** Reads `{"errors": [{"code": …, "message": …}], "status_code": 400}`; undefined: there is no message. */
function errorIn(value: unknown): UpstreamError | undefined {
  const { errors, status_code: status } = recordOf(value) ?? {};
  const [first] = recordsOf(errors);
  const message = textOf(first?.['message']);
  if (message === undefined) return undefined;
  const isStatus = typeof status === 'number' && status >= 400 && status <= 599;
  return { message, code: textOf(first?.['code']) ?? null, ...(isStatus ? { status } : {}) };
}

/** Returns the members with the model and its place; empty for a deployment of watsonx, which determines both. */
const placed = (model: string, { deployment, ...place }: Place) =>
  deployment === undefined ? { model_id: model, ...place } : {};

/** Members that {@link placed} sets. */
const placeNames = ['model_id', 'project_id', 'space_id'];

const chat = (place: Place): DialectEndpoint => ({
  path: ({ streams }) => {
    const { deployment } = place;
    const base = deployment === undefined ? '' : `deployments/${segmentOf(deployment)}/`;
    return `${base}text/${streams ? 'chat_stream' : 'chat'}`;
  },
  request: (members, { model }) => {
    const body = new Map(jsonMembers(placed(model, place)));
    for (const name of members.names) {
      const bytes = members.bytes(name);
      // `placed` has the model. The path says whether the answer is a stream, and streams always have the usage.
      if (['model', 'stream', 'stream_options', ...placeNames].includes(name)) continue;
      if (bytes !== undefined) body.set(name, bytes);
    }
    return body;
  },
  answer: passedAnswer,
  events: { mediaType: 'text/event-stream', open: () => new ChatStream() },
});

const tokensOf = (value: unknown): number => {
  const count = recordOf(value)?.['input_token_count'];
  return typeof count === 'number' ? count : 0;
};

const embeddings = (place: Place): DialectEndpoint => ({
  path: () => 'text/embeddings',
  request: (members, { model }) => {
    const input = memberValue(members, 'input');
    const inputs: readonly unknown[] = Array.isArray(input) ? input : [input];
    if (inputs.some((text) => typeof text !== 'string'))
      throw invalidParameter('input', 'must have texts, because watsonx accepts no tokens');
    return new Map(jsonMembers({ ...placed(model, place), inputs }));
  },
  answer: (value, { model }) => {
    const found = recordsOf(recordOf(value)?.['results']).map(({ embedding }) => embedding);
    if (found.length === 0 || !found.every(Array.isArray)) throw new Error('the answer has no embeddings');
    const tokens = tokensOf(value);
    const data = found.map((embedding, index) => ({ object: 'embedding', index, embedding: embedding as unknown }));
    return { value: { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } } };
  },
});

const rerank = (place: Place): DialectEndpoint => ({
  path: () => 'text/rerank',
  request: (members, { model }) => {
    const documents = memberValue(members, 'documents');
    if (!Array.isArray(documents)) throw invalidParameter('documents', 'must be a list');
    const inputs = documents.map((document: unknown) => ({
      text: textOf(document) ?? textOf(recordOf(document)?.['text']) ?? '',
    }));
    const topN = memberValue(members, 'top_n');
    const options = { top_n: topN, inputs: memberValue(members, 'return_documents') === true ? true : undefined };
    return new Map(
      jsonMembers({
        ...placed(model, place),
        query: memberValue(members, 'query'),
        inputs,
        parameters: { return_options: options },
      }),
    );
  },
  answer: (value) => {
    const results = recordOf(value)?.['results'];
    if (!Array.isArray(results)) throw new Error('the answer has no results');
    const ranked = recordsOf(results).map(({ index, score, input }) => ({
      index,
      relevance_score: score,
      ...(input === undefined ? {} : { document: input }),
    }));
    return { value: { results: ranked, meta: { tokens: { input_tokens: tokensOf(value) } } } };
  },
});

const supported = new Map(
  ['chat/completions', 'embeddings', 'rerank'].map((path) => [path, supportedParameters('watsonx', path)]),
);
const apiAt = (place: Place): ModelApi => ({
  dialect: {
    endpoints: new Map<string, DialectEndpoint | 'unchanged'>([
      ['chat/completions', chat(place)],
      // Deployments of watsonx have no paths for these endpoints.
      ...(place.deployment === undefined
        ? ([
            ['embeddings', embeddings(place)],
            ['rerank', rerank(place)],
          ] as const)
        : []),
      // A form with OpenAI's fields.
      ['audio/transcriptions', 'unchanged'],
    ]),
    error: (_status, body) => errorIn(body),
  },
  supportedParameters: (path) => supported.get(path) ?? unchecked,
});

/**
 * Returns how requests authenticate: with `WATSONX_TOKEN`; or else with a key of IBM's software; or else with tokens
 * that the proxy gets for an API key of IBM's cloud. Empty: none of them is set.
 */
function credentialsOf({ apiKey, value }: TargetSettings): Pick<ProviderTarget, 'apiKey' | 'headers' | 'token'> {
  const token = value(null, 'WATSONX_TOKEN');
  if (token !== undefined) return { apiKey: null, headers: { authorization: `Bearer ${token}` } };
  // A key of IBM's software outside of IBM's cloud.
  const zen = value('zen_api_key', 'WATSONX_ZENAPIKEY');
  if (zen !== undefined) return { apiKey: null, headers: { authorization: `ZenApiKey ${zen}` } };
  const key = apiKey ?? value(null, ...KEYS);
  if (key === undefined) return {};
  const form = { grant_type: 'urn:ibm:params:oauth:grant-type:apikey', apikey: key };
  const url = value(null, 'WATSONX_IAM_URL') ?? TOKEN_SERVER;
  return { apiKey: null, token: { kind: 'oauth', issuer: 'IBM Cloud IAM', url, form } };
}

const target: TargetOf = (settings) => {
  const { apiBase, model, value } = settings;
  if (apiBase === null) return null;
  const project = value('project_id', 'WATSONX_PROJECT_ID', 'WX_PROJECT_ID');
  const space = value('space_id', 'WATSONX_SPACE_ID', 'WATSONX_DEPLOYMENT_SPACE_ID');
  const [, deployment] = /^deployment\/(.+)$/.exec(model) ?? [];
  if (deployment === undefined && project === undefined && space === undefined)
    return 'watsonx needs project_id, or WATSONX_PROJECT_ID';
  const scope = project === undefined ? (space === undefined ? {} : { space_id: space }) : { project_id: project };
  const place = { ...scope, ...(deployment === undefined ? {} : { deployment }) };
  return {
    ...credentialsOf(settings),
    apiBase: `${apiBase.replace(/\/ml\/v1$/, '')}/ml/v1`,
    query: `version=${encodeURIComponent(value('api_version', 'WATSONX_API_VERSION') ?? VERSION)}`,
    upstreamModel: deployment ?? model,
    api: apiAt(place),
    formFields: scope,
  };
};

/** IBM watsonx.ai. */
export const watsonx: Provider = openaiApiProvider({
  name: 'watsonx',
  exceptionName: 'WatsonxException',
  apiKeyEnvironment: KEYS,
  apiBaseEnvironment: ['WATSONX_API_BASE', 'WATSONX_URL', 'WX_URL'],
  modelParameters: placeNames,
  targetOf: target,
});
