/**
 * Embeddings of Bedrock, whose models have four forms of inputs and results.
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-mm.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html
 * @see https://docs.aws.amazon.com/nova/latest/userguide/embeddings-schema.html
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import type { DialectEndpoint } from '../dialect.js';
import { embeddingsAnswer, type Embeddings } from '../openai/embeddings-answer.js';
import { supportedParameters, unchecked } from '../parameters.js';
import { jsonMembers, memberValue, type RequestMembers } from '../request-members.js';
import { segmentOf, type ModelApi } from '../target.js';
import { bedrockError } from './bedrock-error.js';

type Members = Readonly<Record<string, unknown>>;

/** The differences between the forms. */
interface Form {
  /** Maximum number of inputs; null: Bedrock decides. */
  readonly maxInputs: number | null;
  request(inputs: readonly string[], members: RequestMembers): Members;
  read(answer: Members): Embeddings;
}

/** The beginning of a data URL with a picture. */
const dataUrl = /^data:image\/([\w.+-]+);base64,/;

const titanEmbeddings = ({ embedding, inputTextTokenCount: tokens }: Members): Embeddings => ({
  embeddings: [embedding],
  tokens: typeof tokens === 'number' ? tokens : 0,
});

const titanText: Form = {
  maxInputs: 1,
  request: ([inputText], members) => ({
    inputText,
    dimensions: memberValue(members, 'dimensions'),
    normalize: memberValue(members, 'normalize'),
  }),
  read: titanEmbeddings,
};

const titanMultimodal: Form = {
  maxInputs: 1,
  request: ([input = ''], members) => {
    const outputEmbeddingLength = memberValue(members, 'dimensions');
    return {
      ...(dataUrl.test(input) ? { inputImage: input.replace(dataUrl, '') } : { inputText: input }),
      ...(outputEmbeddingLength === undefined ? {} : { embeddingConfig: { outputEmbeddingLength } }),
    };
  },
  read: titanEmbeddings,
};

const cohere: Form = {
  maxInputs: null,
  request: (inputs, members) => ({
    ...(inputs.some((input) => dataUrl.test(input)) ? { images: inputs } : { texts: inputs }),
    input_type:
      memberValue(members, 'input_type') ?? (inputs.some((input) => dataUrl.test(input)) ? 'image' : 'search_document'),
    truncate: memberValue(members, 'truncate'),
    output_dimension: memberValue(members, 'dimensions'),
  }),
  // Newer models have a list of embeddings for each type of number.
  read: ({ embeddings }) => ({
    embeddings: Array.isArray(embeddings) ? embeddings : listOf(recordOf(embeddings)?.['float']),
    tokens: 0,
  }),
};

const nova: Form = {
  maxInputs: 1,
  request: ([input = ''], members) => {
    const [, format] = dataUrl.exec(input) ?? [];
    return {
      taskType: 'SINGLE_EMBEDDING',
      singleEmbeddingParams: {
        embeddingPurpose: memberValue(members, 'input_type') ?? 'GENERIC_INDEX',
        embeddingDimension: memberValue(members, 'dimensions') ?? 3072,
        ...(format === undefined
          ? { text: { truncationMode: 'END', value: input } }
          : { image: { format, source: { bytes: input.replace(dataUrl, '') } } }),
      },
    };
  },
  read: ({ embeddings }) => ({ embeddings: recordsOf(embeddings).map(({ embedding }) => embedding), tokens: 0 }),
};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The forms by the name of the model, which may be a part of an ARN. */
const forms: readonly (readonly [pattern: RegExp, form: Form])[] = [
  [/amazon\.titan-embed-image/, titanMultimodal],
  [/amazon\.titan-embed/, titanText],
  [/cohere\.embed/, cohere],
  [/amazon\.nova-2-multimodal-embeddings/, nova],
];

/** Returns the texts to embed. @throws {ProxyError} 400: an input is not a text, or there are none or too many. */
function inputsOf(members: RequestMembers, { maxInputs }: Form): readonly string[] {
  const input = memberValue(members, 'input');
  const inputs = (Array.isArray(input) ? input : [input]).map(textOf).filter((text) => text !== undefined);
  if (inputs.length === 0 || inputs.length !== (Array.isArray(input) ? input.length : 1))
    throw invalidParameter('input', 'must have texts, because the models of Bedrock accept no tokens');
  if (maxInputs !== null && inputs.length > maxInputs)
    throw invalidParameter('input', 'must have one text for this model');
  return inputs;
}

const endpoint = (form: Form): DialectEndpoint => ({
  path: ({ model }) => `model/${segmentOf(model)}/invoke`,
  request: (members) => new Map(jsonMembers(form.request(inputsOf(members, form), members))),
  answer: (value, { model }) => embeddingsAnswer(form.read(recordOf(value) ?? {}), model),
});

const supported = supportedParameters('bedrock', 'embeddings');
/** Returns the API for the embeddings of a model. @returns undefined: its form is unknown. */
export function embeddingsApi(model: string): ModelApi | undefined {
  const [, form] = forms.find(([pattern]) => pattern.test(model)) ?? [];
  if (form === undefined) return undefined;
  return {
    dialect: { endpoints: new Map([['embeddings', endpoint(form)]]), error: bedrockError },
    supportedParameters: (path) => (path === 'embeddings' ? supported : unchecked),
  };
}
