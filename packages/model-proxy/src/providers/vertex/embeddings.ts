/**
 * Embeddings of Vertex AI, whose models have four forms of inputs and results.
 * @see https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
 * @see https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/multimodal-embeddings-api
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import type { DialectEndpoint } from '../dialect.js';
import { embeddingsAnswer, type Embeddings } from '../openai/embeddings-answer.js';
import { jsonMembers, memberValue, type RequestMembers } from '../request-members.js';

/** The differences between the forms. */
interface Form {
  /** The method in the path, such as `predict`. */
  readonly method: string;
  /** Returns the members of the request. */
  request(inputs: readonly unknown[], members: RequestMembers): Readonly<Record<string, unknown>>;
  /** Reads an answer. */
  read(answer: Readonly<Record<string, unknown>>): Embeddings;
}

/** Returns the inputs of OpenAI's request. @throws {ProxyError} 400: an input is neither a text nor an object. */
function inputsOf(members: RequestMembers): readonly unknown[] {
  const input = memberValue(members, 'input');
  const inputs: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (inputs.some((element) => typeof element !== 'string' && recordOf(element) === undefined))
    throw invalidParameter('input', 'must have texts, because the models of Vertex AI accept no tokens');
  return inputs;
}

/** Returns Google's parameters of an input. Clients may write `input_type` in place of Google's `task_type`. */
const taskOf = (members: RequestMembers) => ({
  task_type: memberValue(members, 'task_type') ?? memberValue(members, 'input_type'),
  title: memberValue(members, 'title'),
});

const textParameters = (members: RequestMembers) => ({
  outputDimensionality: memberValue(members, 'dimensions'),
  autoTruncate: memberValue(members, 'auto_truncate'),
});

const predictions = (answer: Readonly<Record<string, unknown>>): readonly unknown[] =>
  Array.isArray(answer['predictions']) ? answer['predictions'] : [];

const text: Form = {
  method: 'predict',
  request: (inputs, members) => ({
    instances: inputs.map((content) => ({ content, ...taskOf(members) })),
    parameters: textParameters(members),
  }),
  read: (answer) => {
    const found = recordsOf(predictions(answer)).map(({ embeddings }) => recordOf(embeddings) ?? {});
    const counts = found.map(({ statistics }) => Number(recordOf(statistics)?.['token_count'] ?? 0));
    return { embeddings: found.map(({ values }) => values), tokens: counts.reduce((sum, count) => sum + count, 0) };
  },
};

/** Models of customers, made from BAAI's models. */
const bge: Form = {
  method: 'predict',
  request: (inputs, members) => ({
    instances: inputs.map((prompt) => ({ prompt, ...taskOf(members) })),
    parameters: textParameters(members),
  }),
  read: (answer) => ({ embeddings: predictions(answer), tokens: 0 }),
};

const multimodal: Form = {
  method: 'predict',
  request: (inputs, members) => ({
    instances: inputs.map(instanceOf),
    parameters: { dimension: memberValue(members, 'dimensions') },
  }),
  read: (answer) => ({
    embeddings: recordsOf(predictions(answer)).flatMap(({ textEmbedding, imageEmbedding, videoEmbeddings }) => [
      ...[textEmbedding, imageEmbedding].filter((values) => values !== undefined),
      ...recordsOf(videoEmbeddings).map(({ embedding }) => embedding),
    ]),
    tokens: 0,
  }),
};

const dataUrl = /^data:[\w.+-]+\/[\w.+-]+;base64,/;

/**
 * Returns Google's form of an input: a text, a data URL of an image, `gs://…` (a video if it ends with `.mp4`, else an
 * image), or an object that already has Google's form.
 */
function instanceOf(input: unknown): object {
  const given = textOf(input);
  if (given === undefined) return { ...recordOf(input) };
  if (given.startsWith('gs://')) return { [given.endsWith('.mp4') ? 'video' : 'image']: { gcsUri: given } };
  if (dataUrl.test(given)) return { image: { bytesBase64Encoded: given.replace(dataUrl, '') } };
  return { text: given };
}

/** Newer models of Gemini, which accept only one input: several inputs are rejected with status 400. */
const content: Form = {
  method: 'embedContent',
  request: ([input, ...others], members) => {
    if (others.length > 0) throw invalidParameter('input', 'must have one text for this model');
    return {
      content: { parts: [{ text: input }] },
      taskType: taskOf(members).task_type,
      ...textParameters(members),
    };
  },
  read: ({ embedding, usageMetadata }) => ({
    embeddings: [recordOf(embedding)?.['values']],
    tokens: Number(recordOf(usageMetadata)?.['promptTokenCount'] ?? 0),
  }),
};

function formOf(model: string): Form {
  if (model.startsWith('multimodalembedding')) return multimodal;
  if (/^gemini-embedding-[2-9]/.test(model)) return content;
  return model.startsWith('bge') ? bge : text;
}

/** Returns the endpoint for the embeddings of a model. @param pathOf returns the path of a method. */
export function embeddingsEndpoint(model: string, pathOf: (method: string) => string): DialectEndpoint {
  const form = formOf(model);
  return {
    path: () => pathOf(form.method),
    request: (members) => new Map(jsonMembers(form.request(inputsOf(members), members))),
    answer: (value) => embeddingsAnswer(form.read(recordOf(value) ?? {}), model),
  };
}
