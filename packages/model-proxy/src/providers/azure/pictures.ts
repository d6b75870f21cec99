/**
 * Models for pictures at Foundry with APIs of their own: FLUX 2 of Black Forest Labs, and MAI-Image of Microsoft. Their
 * answers have OpenAI's form. The paths and the members are those that LiteLLM 1.108.7 sends.
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, textOf } from '../anthropic/values.js';
import type { DialectEndpoint } from '../dialect.js';
import { unchecked } from '../parameters.js';
import { jsonMembers, memberValue, type RequestMembers } from '../request-members.js';
import type { ProviderTarget } from '../target.js';

const GENERATIONS = 'images/generations';

/** Parameters of OpenAI that neither API has, and the two that the proxy translates. */
const notCopied: ReadonlySet<string> = new Set([
  ...['background', 'moderation', 'output_compression', 'quality', 'response_format', 'style', 'user'],
  ...['n', 'size'],
]);

/** The default width and height of MAI's pictures, in pixels. The API requires both members. */
const MAI_PIXELS = 1024;

/** Returns the members with the same names in these APIs. */
const sameMembers = (members: RequestMembers): [string, Buffer][] =>
  members.names.flatMap((name) => {
    const value = notCopied.has(name) ? undefined : members.bytes(name);
    return value === undefined ? [] : [[name, value]];
  });

/** Returns `size` as width and height. */
function pixelsOf(members: RequestMembers): { readonly width?: number; readonly height?: number } {
  const size = memberValue(members, 'size');
  if (size === undefined || size === 'auto') return {};
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(textOf(size) ?? '') ?? [];
  if (width === undefined) throw invalidParameter('size', 'must be auto, or have the form 1024x1024');
  return { width: Number(width), height: Number(height) };
}

/** Checks an answer. It has OpenAI's form. @throws {Error} if it has no pictures. */
function picturesOf(value: unknown): Readonly<Record<string, unknown>> {
  const answer = recordOf(value);
  if (!Array.isArray(answer?.['data'])) throw new Error('the answer has no pictures');
  return answer;
}

/** Makes the endpoint of FLUX 2. @param path path of the model. */
const flux2 = (path: string): DialectEndpoint => ({
  path: () => path,
  request: (members) =>
    new Map([...jsonMembers({ num_images: memberValue(members, 'n'), ...pixelsOf(members) }), ...sameMembers(members)]),
  answer: (value) => ({ value: picturesOf(value) }),
});

/** Returns MAI's usage with OpenAI's names. */
function maiUsage(usage: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (usage['input_tokens'] !== undefined) return usage;
  const count = (name: string) => Number(usage[name] ?? 0);
  const [text, image, output] = ['num_input_text_tokens', 'num_input_image_tokens', 'num_output_tokens'].map(count);
  const [input_tokens, output_tokens] = [(text ?? 0) + (image ?? 0), output ?? 0];
  const input_tokens_details = { text_tokens: text, image_tokens: image };
  return { input_tokens, input_tokens_details, output_tokens, total_tokens: input_tokens + output_tokens };
}

const mai: DialectEndpoint = {
  path: () => GENERATIONS,
  request: (members) => {
    // The API ignores a number, and always makes one picture.
    if ((memberValue(members, 'n') ?? 1) !== 1) throw invalidParameter('n', 'must be 1 for this model');
    const pixels = { width: MAI_PIXELS, height: MAI_PIXELS, ...pixelsOf(members) };
    return new Map([...jsonMembers(pixels), ...sameMembers(members)]);
  },
  answer: (value) => {
    const answer = picturesOf(value);
    const usage = recordOf(answer['usage']);
    return { value: usage === undefined ? answer : { ...answer, usage: maiUsage(usage) } };
  },
};

type Target = Pick<ProviderTarget, 'apiBase' | 'api'>;

type Endpoints = readonly (readonly [path: string, endpoint: DialectEndpoint | 'unchanged'])[];

/** Makes a target. Its errors have OpenAI's form. */
const targetWith = (apiBase: string, endpoints: Endpoints): Target => ({
  apiBase,
  api: {
    dialect: { endpoints: new Map(endpoints), error: () => undefined },
    supportedParameters: () => unchecked,
  },
});

/** Matches the address of a model of FLUX: the address of all models, and the path of this one. */
const fluxAddress = /^(.*\/providers\/.+)\/([^/]+)$/;

/**
 * Returns the target of a model with one of these APIs; undefined: the model has another API.
 * @param apiBase address of the resource, or of the model. Azure's pages show both.
 */
export function picturesTarget(apiBase: string, model: string): Target | undefined {
  const resource = apiBase.replace(/\/models$/, '');
  if (/flux[-._]?2/i.test(model)) {
    const own = /flux[-._]?2[-._]flex/i.test(model) ? 'flux-2-flex' : 'flux-2-pro';
    const [, address = `${resource}/providers/blackforestlabs/v1`, path = own] = fluxAddress.exec(apiBase) ?? [];
    return targetWith(address, [[GENERATIONS, flux2(path)]]);
  }
  if (!/mai[-_]?image/i.test(model)) return undefined;
  const address = resource.replace(/\/images\/\w+$/, '');
  // Requests for edits are forms, which the proxy forwards unchanged.
  return targetWith(address.includes('/mai/') ? address : `${address}/mai/v1`, [
    [GENERATIONS, mai],
    ['images/edits', 'unchanged'],
  ]);
}
