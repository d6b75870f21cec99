/**
 * Pictures of fal. The name of the model is its path, such as `fal-ai/flux/dev`.
 * @see https://docs.fal.ai/model-apis/model-endpoints/synchronous-requests
 * @see https://fal.ai/models/fal-ai/flux/dev/api
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import type { Dialect, DialectEndpoint, UpstreamError } from '../dialect.js';
import type { Provider } from '../provider.js';
import { jsonMembers, memberValue, type RequestMembers } from '../request-members.js';
import { segmentOf } from '../target.js';
import { unchecked } from '../parameters.js';

/** Models that get an aspect ratio, and choose the number of pixels. All other models get width and height. */
const proportional = /flux-pro\/v1\.1-ultra|imagen|nano-banana/;

const proportions: ReadonlyMap<string, string> = new Map([
  ['1024x1024', '1:1'],
  ['1792x1024', '16:9'],
  ['1024x1792', '9:16'],
  ['1536x1024', '4:3'],
  ['1024x1536', '3:4'],
]);

function sizeOf(members: RequestMembers, model: string): Readonly<Record<string, unknown>> {
  const size = memberValue(members, 'size');
  if (size === undefined || size === 'auto') return {};
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(textOf(size) ?? '') ?? [];
  if (width === undefined) throw invalidParameter('size', 'must be auto, or have the form 1024x1024');
  if (!proportional.test(model)) return { image_size: { width: Number(width), height: Number(height) } };
  const proportion = proportions.get(`${width}x${height}`);
  if (proportion === undefined)
    throw invalidParameter('size', `must be one of auto, ${[...proportions.keys()].join(', ')}`);
  return { aspect_ratio: proportion };
}

/** Parameters of fal that clients may send. */
const ownNames = ['seed', 'negative_prompt', 'guidance_scale', 'num_inference_steps', 'output_format', 'aspect_ratio'];

const dataUrl = /^data:[\w.+/-]+;base64,/;

const images: DialectEndpoint = {
  path: ({ model }) => model.split('/').map(segmentOf).join('/'),
  request: (members, { model }) => {
    const own = ownNames.map((name) => [name, memberValue(members, name)] as const);
    return new Map(
      jsonMembers({
        prompt: memberValue(members, 'prompt'),
        num_images: memberValue(members, 'n'),
        // The answer then has the pictures as data URLs.
        sync_mode: memberValue(members, 'response_format') === 'b64_json' ? true : undefined,
        ...Object.fromEntries(own),
        ...sizeOf(members, model),
      }),
    );
  },
  answer: (value) => {
    const urls = recordsOf(recordOf(value)?.['images']).map(({ url }) => textOf(url));
    if (urls.length === 0 || urls.includes(undefined)) throw new Error('the answer has no pictures');
    const data = urls.map((url = '') => (dataUrl.test(url) ? { b64_json: url.replace(dataUrl, '') } : { url }));
    return { value: { created: Math.floor(Date.now() / 1000), data } };
  },
};

/**
 * Reads an error of fal; undefined: it has another form. Its `detail` is a text, or for an invalid request a list of
 * faults. Each fault has the path of its parameter in `loc`.
 */
function falError(_status: number, body: unknown): UpstreamError | undefined {
  const detail = recordOf(body)?.['detail'];
  const [first] = recordsOf(detail);
  const message = textOf(detail) ?? textOf(first?.['msg']);
  if (message === undefined) return undefined;
  const place = first?.['loc'];
  return { message, param: Array.isArray(place) ? (textOf(place.at(-1)) ?? null) : null };
}

const dialect: Dialect = { endpoints: new Map([['images/generations', images]]), error: falError };
/** The provider fal. */
export const fal: Provider = {
  name: 'fal_ai',
  exceptionName: 'Fal_aiException',
  apiKeyEnvironment: ['FAL_AI_API_KEY', 'FAL_KEY'],
  apiBaseEnvironment: ['FAL_AI_API_BASE'],
  defaultApiBase: 'https://fal.run',
  supportedParameters: () => unchecked,
  headers: (apiKey) => (apiKey === null ? {} : { authorization: `Key ${apiKey}` }),
  dialect,
};
