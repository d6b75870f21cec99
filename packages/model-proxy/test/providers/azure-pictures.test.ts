/** Models of Azure AI for pictures. The client is OpenAI's SDK. The shapes are those of LiteLLM 1.108.7. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { toFile } from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { cleanUp, entry, json, Vendors } from './vendors.js';

const HOST = 'res.services.ai.azure.com';
const OTHER_HOST = 'res.cognitiveservices.azure.com';
const KEY = 'foundry-key-0123456789';
const VERSION = '2025-05-05';
const pictures = { created: 1, data: [{ b64_json: 'aGk=' }] };

/** Model, more params, URL of a generation. */
const targets: readonly (readonly [model: string, params: Readonly<Record<string, string>>, url: string])[] = [
  ['FLUX-1.1-pro', {}, `${HOST}/openai/deployments/FLUX-1.1-pro/images/generations?api-version=${VERSION}`],
  [
    'FLUX-1.1-pro',
    { api_version: '2024-10-21' },
    `${HOST}/openai/deployments/FLUX-1.1-pro/images/generations?api-version=2024-10-21`,
  ],
  ['FLUX.1-Kontext-pro', { api_version: 'preview' }, `${HOST}/openai/v1/images/generations?api-version=preview`],
  ['my pictures', {}, `${HOST}/openai/deployments/my%20pictures/images/generations?api-version=${VERSION}`],
  [
    'gpt-image-1',
    { api_base: `https://${OTHER_HOST}` },
    `${OTHER_HOST}/openai/deployments/gpt-image-1/images/generations?api-version=${VERSION}`,
  ],
  ['flux.2-pro', {}, `${HOST}/providers/blackforestlabs/v1/flux-2-pro?api-version=${VERSION}`],
  ['flux.2-pro', { api_version: 'preview' }, `${HOST}/providers/blackforestlabs/v1/flux-2-pro?api-version=preview`],
  ['FLUX.2-flex', {}, `${HOST}/providers/blackforestlabs/v1/flux-2-flex?api-version=${VERSION}`],
  [
    'FLUX.2-max',
    { api_base: `https://${HOST}/providers/blackforestlabs/v1/flux-2-max?api-version=2026-01-01` },
    `${HOST}/providers/blackforestlabs/v1/flux-2-max?api-version=2026-01-01`,
  ],
  ['MAI-Image-2.5', {}, `${HOST}/mai/v1/images/generations?api-version=${VERSION}`],
  [
    'mai_image_2',
    { api_base: `https://${HOST}/mai/v1/images/generations` },
    `${HOST}/mai/v1/images/generations?api-version=${VERSION}`,
  ],
];

describe('models of Azure AI for pictures', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  /** The same models without the variable for the version. */
  let undated: TestProxy;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST, OTHER_HOST]);
    const foundry = { api_base: `https://${HOST}`, api_key: KEY };
    const models = targets.map(([model, params], index) =>
      entry(`picture-${index}`, { model: `azure_ai/${model}`, ...foundry, ...params }),
    );
    const named = ['FLUX-1.1-pro', 'flux.2-pro', 'MAI-Image-2.5', 'Phi-4'].map((model) =>
      entry(model, { model: `azure_ai/${model}`, ...foundry }),
    );
    proxy = await vendors.proxy([...models, ...named], { AZURE_AI_API_VERSION: VERSION });
    undated = await vendors.proxy(named);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  cleanUp(() => ({
    vendors,
    proxy: { ...proxy, close: async () => void (await Promise.all([proxy.close(), undated.close()])) },
  }));

  it.each(targets.map(([model, params, url], index) => [model, params, url, `picture-${index}`] as const))(
    'get requests for %s with %j at %s',
    async (_model, _params, url, name) => {
      vendors.answers.set(HOST, json(pictures));
      vendors.answers.set(OTHER_HOST, json(pictures));
      const { data } = await client.images.generate({ model: name, prompt: 'x' });
      expect(data).toEqual(pictures.data);
      const { line, headers } = vendors.firstRequest();
      expect([line, headers['api-key']]).toEqual([`POST https://${url}`, KEY]);
    },
  );

  it('get the version of each API if neither the configuration nor the variable has any', async () => {
    vendors.answers.set(HOST, json(pictures));
    const to = new OpenAI({ baseURL: `${undated.url}/v1`, apiKey: 'any', maxRetries: 0 });
    const image = await toFile(Buffer.from('PNG'), 'a.png', { type: 'image/png' });
    for (const model of ['FLUX-1.1-pro', 'flux.2-pro', 'MAI-Image-2.5'])
      await to.images.generate({ model, prompt: 'x' });
    for (const model of ['FLUX-1.1-pro', 'MAI-Image-2.5']) await to.images.edit({ model, prompt: 'x', image });
    expect(vendors.take().map(({ line }) => line.replace(`POST https://${HOST}/`, ''))).toEqual([
      'openai/deployments/FLUX-1.1-pro/images/generations?api-version=2025-02-01-preview',
      'providers/blackforestlabs/v1/flux-2-pro?api-version=preview',
      'mai/v1/images/generations?api-version=preview',
      'openai/deployments/FLUX-1.1-pro/images/edits?api-version=2025-04-01-preview',
      'mai/v1/images/edits?api-version=preview',
    ]);
  });

  it('do not let the variable for the version change chats', async () => {
    vendors.answers.set(HOST, json({ id: 'c', object: 'chat.completion', created: 1, model: 'Phi-4', choices: [] }));
    await client.chat.completions.create({ model: 'Phi-4', messages: [{ role: 'user', content: 'hi' }] });
    expect(vendors.firstRequest().line).toBe(
      `POST https://${HOST}/models/chat/completions?api-version=2024-05-01-preview`,
    );
  });

  const sent: readonly (readonly [model: string, given: object, expected: object])[] = [
    ['flux.2-pro', {}, {}],
    ['flux.2-pro', { n: 2, size: '1024x1536' }, { num_images: 2, width: 1024, height: 1536 }],
    ['flux.2-pro', { size: 'auto', seed: 3, guidance: 2.5 }, { seed: 3, guidance: 2.5 }],
    ['flux.2-pro', { quality: 'high', background: 'opaque', response_format: 'b64_json', user: 'u' }, {}],
    ['MAI-Image-2.5', {}, { width: 1024, height: 1024 }],
    ['MAI-Image-2.5', { n: 1, size: '768x1024', response_format: 'b64_json' }, { width: 768, height: 1024 }],
    [
      'MAI-Image-2.5',
      { width: 800, height: 900, output_format: 'png' },
      { width: 800, height: 900, output_format: 'png' },
    ],
  ];
  it.each(sent)('get parameters under their own names: %s gets %j as %j', async (model, given, expected) => {
    vendors.answers.set(HOST, json(pictures));
    await client.images.generate({ model, prompt: 'x', ...given });
    expect(vendors.firstRequest().json).toEqual({ model, prompt: 'x', ...expected });
  });

  it.each([
    ['flux.2-pro', { size: 'big' }, 'size'],
    ['MAI-Image-2.5', { n: 2 }, 'n'],
  ])('reject what their APIs cannot express: %s with %j', async (model, given, param) => {
    const failure: unknown = await client.images
      .generate({ model, prompt: 'x', ...(given as object) })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 400, param });
    expect(vendors.take()).toEqual([]);
  });

  it('forward the usage of MAI with the names of OpenAI', async () => {
    const usage = { num_input_text_tokens: 5, num_input_image_tokens: 0, num_output_tokens: 1024 };
    vendors.answers.set(HOST, json({ ...pictures, usage }));
    const { usage: counted } = await client.images.generate({ model: 'MAI-Image-2.5', prompt: 'x' });
    const input = { input_tokens: 5, input_tokens_details: { text_tokens: 5, image_tokens: 0 } };
    expect(counted).toEqual({ ...input, output_tokens: 1024, total_tokens: 1029 });
  });

  it('get edits as forms if they are models of MAI. FLUX 2 has no forms', async () => {
    vendors.answers.set(HOST, json(pictures));
    const image = await toFile(Buffer.from('PNG'), 'a.png', { type: 'image/png' });
    await client.images.edit({ model: 'MAI-Image-2.5', prompt: 'x', image });
    const [request] = vendors.take();
    expect(request?.line).toBe(`POST https://${HOST}/mai/v1/images/edits?api-version=${VERSION}`);
    expect(request?.body).toContain('filename="a.png"');
    const failure: unknown = await client.images
      .edit({ model: 'flux.2-pro', prompt: 'x', image })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 400 });
    expect(vendors.take()).toEqual([]);
  });

  it.each([
    [400, { error: { code: 'BadRequest', message: 'width must be a multiple of 32' } }, 400],
    [200, { status: 'pending' }, 502],
  ])('report errors, and answers without pictures: %s %j gives %s', async (status, body, expected) => {
    vendors.answers.set(HOST, json(body, status));
    const failure: unknown = await client.images
      .generate({ model: 'flux.2-pro', prompt: 'x' })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: expected });
    if (status === 400) expect(String(failure)).toContain('width must be a multiple of 32');
  });
});
