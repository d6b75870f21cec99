/**
 * Pictures of Bedrock: Amazon's Nova Canvas and Titan, and the models of Stability AI.
 * @see https://docs.aws.amazon.com/nova/latest/userguide/image-gen-req-resp-structure.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-image.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-stability-diffusion.html
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, textOf } from '../anthropic/values.js';
import type { DialectAnswer, DialectEndpoint } from '../dialect.js';
import { jsonMembers, memberValue, type RequestMembers } from '../request-members.js';
import { segmentOf, type ModelApi } from '../target.js';
import { bedrockError } from './bedrock-error.js';
import { unchecked } from '../parameters.js';

const size = /^(\d{1,5})x(\d{1,5})$/;

/** Amazon's words for OpenAI's qualities. */
const qualities: ReadonlyMap<unknown, string> = new Map([
  ['hd', 'premium'],
  ['high', 'premium'],
  ['premium', 'premium'],
]);

function sizeOf(members: RequestMembers): readonly [width: number, height: number] | undefined {
  const given = memberValue(members, 'size');
  if (given === undefined || given === 'auto') return undefined;
  const [, width, height] = size.exec(textOf(given) ?? '') ?? [];
  if (width === undefined) throw invalidParameter('size', 'must be auto, or have the form 1024x1024');
  return [Number(width), Number(height)];
}

function amazonRequest(members: RequestMembers): Map<string, Buffer> {
  const [width, height] = sizeOf(members) ?? [];
  const config = {
    numberOfImages: memberValue(members, 'n') ?? 1,
    quality: qualities.get(memberValue(members, 'quality')) ?? 'standard',
    width,
    height,
    seed: memberValue(members, 'seed'),
  };
  return new Map(
    jsonMembers({
      taskType: 'TEXT_IMAGE',
      textToImageParams: {
        text: memberValue(members, 'prompt'),
        negativeText: memberValue(members, 'negative_prompt'),
      },
      imageGenerationConfig: config,
    }),
  );
}

/** Stability's proportions for OpenAI's sizes. The model chooses the number of pixels. */
const proportions: ReadonlyMap<string, string> = new Map([
  ['1024x1024', '1:1'],
  ['1792x1024', '16:9'],
  ['1024x1792', '9:16'],
  ['1536x1024', '3:2'],
  ['1024x1536', '2:3'],
]);

function stabilityRequest(members: RequestMembers): Map<string, Buffer> {
  if ((memberValue(members, 'n') ?? 1) !== 1) throw invalidParameter('n', 'must be 1 for this model');
  const pixels = sizeOf(members)?.join('x');
  const aspectRatio = pixels === undefined ? undefined : proportions.get(pixels);
  if (pixels !== undefined && aspectRatio === undefined)
    throw invalidParameter('size', `must be one of auto, ${[...proportions.keys()].join(', ')}`);
  return new Map(
    jsonMembers({
      prompt: memberValue(members, 'prompt'),
      aspect_ratio: aspectRatio ?? memberValue(members, 'aspect_ratio'),
      negative_prompt: memberValue(members, 'negative_prompt'),
      seed: memberValue(members, 'seed'),
      output_format: memberValue(members, 'output_format'),
    }),
  );
}

/**
 * Translates an answer. If it has no picture but a reason, returns an error 400 with the reason.
 * @throws {Error} if it has neither a picture nor a reason.
 */
function answer(value: unknown): DialectAnswer {
  const { images, error, finish_reasons: reasons } = recordOf(value) ?? {};
  const found = textsOf(images).filter((image) => image !== '');
  const reason = textOf(error) ?? textsOf(reasons)[0];
  if (found.length === 0 && reason !== undefined)
    return { error: { status: 400, message: reason, code: 'content_policy_violation' } };
  if (found.length === 0) throw new Error('the answer has no pictures');
  return { value: { created: Math.floor(Date.now() / 1000), data: found.map((image) => ({ b64_json: image })) } };
}

const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(textOf).filter((text) => text !== undefined) : [];

const apiWith = (request: DialectEndpoint['request']): ModelApi => ({
  dialect: {
    endpoints: new Map([
      ['images/generations', { path: ({ model }) => `model/${segmentOf(model)}/invoke`, request, answer }],
    ]),
    error: bedrockError,
  },
  supportedParameters: () => unchecked,
});

/** Models that make pictures from text. */
const apis: readonly (readonly [pattern: RegExp, api: ModelApi])[] = [
  [/amazon\.(?:nova-canvas|titan-image)/, apiWith(amazonRequest)],
  [/stability\.(?:sd3|stable-image-(?:core|ultra))/, apiWith(stabilityRequest)],
];

/** Returns the API of a model for pictures; undefined: the model makes no pictures from text. */
export function imagesApi(model: string): ModelApi | undefined {
  return apis.find(([pattern]) => pattern.test(model))?.[1];
}
