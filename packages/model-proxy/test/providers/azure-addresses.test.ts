/**
 * Addresses of Azure: with a query, as gateways such as Azure API Management require it, and in the clouds of the US
 * government and of China. The client is OpenAI's SDK.
 * @see https://learn.microsoft.com/azure/api-management/api-management-subscriptions
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { toFile } from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { cleanUp, entry, json, Vendors } from './vendors.js';

const HOST = 'gateway.example';
const VERSION = '2025-04-01-preview';
const OWN_KEY = 'subscription-key=s%2B1';

/** Name, model, rest of `api_base`, more params. */
const entries: readonly (readonly [name: string, model: string, rest: string, params?: object])[] = [
  ['foundry', 'azure_ai/FLUX-1.1-pro', `/x?api-version=${VERSION}&${OWN_KEY}`],
  ['foundry-v1', 'azure_ai/FLUX-1.1-pro', `/x?${OWN_KEY}&api-version=preview`],
  ['foundry-plain', 'azure_ai/FLUX-1.1-pro', `/x?${OWN_KEY}`],
  ['foundry-dated', 'azure_ai/Phi-4', `/x?${OWN_KEY}`, { api_version: VERSION }],
  ['flux-2', 'azure_ai/flux.2-pro', `?${OWN_KEY}`],
  ['dated', 'azure/gpt', `?${OWN_KEY}`, { api_version: VERSION }],
  ['default', 'azure/gpt', `?${OWN_KEY}`],
  ['v1', 'azure/gpt', `?${OWN_KEY}`, { api_version: 'preview' }],
  ['v1-in-query', 'azure/gpt', `/openai/v1?api-version=preview&${OWN_KEY}`],
];

type Send = (client: OpenAI, model: string) => PromiseLike<unknown>;

const chat: Send = (client, model) =>
  client.chat.completions.create({ model, messages: [{ role: 'user', content: 'hi' }] });
const embed: Send = (client, model) => client.embeddings.create({ model, input: 'x' });
const respond: Send = (client, model) => client.responses.create({ model, input: 'x' });
const retrieve: Send = async (client, model) => {
  const { id } = await client.responses.create({ model, input: 'x' });
  await client.responses.retrieve(id);
};
const generate: Send = (client, model) => client.images.generate({ model, prompt: 'x' });
const edit: Send = async (client, model) =>
  client.images.edit({ model, prompt: 'x', image: await toFile(Buffer.from('PNG'), 'a.png', { type: 'image/png' }) });

/** Name, request, path with the version. */
const targets: readonly (readonly [name: string, send: Send, url: string])[] = [
  ['foundry', chat, `/x/chat/completions?api-version=${VERSION}`],
  ['foundry', embed, `/x/embeddings?api-version=${VERSION}`],
  ['foundry', generate, `/x/openai/deployments/FLUX-1.1-pro/images/generations?api-version=${VERSION}`],
  ['foundry', edit, `/x/openai/deployments/FLUX-1.1-pro/images/edits?api-version=${VERSION}`],
  ['foundry-v1', generate, '/x/openai/v1/images/generations?api-version=preview'],
  ['foundry-plain', chat, '/x/chat/completions?'],
  ['foundry-plain', generate, '/x/openai/deployments/FLUX-1.1-pro/images/generations?api-version=2025-02-01-preview'],
  ['foundry-dated', chat, `/x/chat/completions?api-version=${VERSION}`],
  ['flux-2', generate, '/providers/blackforestlabs/v1/flux-2-pro?api-version=preview'],
  ['dated', chat, `/openai/deployments/gpt/chat/completions?api-version=${VERSION}`],
  ['dated', generate, `/openai/deployments/gpt/images/generations?api-version=${VERSION}`],
  ['dated', respond, `/openai/responses?api-version=${VERSION}`],
  ['default', generate, '/openai/deployments/gpt/images/generations?api-version=2025-02-01-preview'],
  ['default', respond, '/openai/v1/responses?api-version=preview'],
  ['default', retrieve, '/openai/v1/responses/resp_1?api-version=preview'],
  ['v1', chat, '/openai/v1/chat/completions?'],
  ['v1', generate, '/openai/v1/images/generations?api-version=preview'],
  ['v1', respond, '/openai/v1/responses?api-version=preview'],
  ['v1-in-query', chat, '/openai/v1/chat/completions?api-version=preview'],
  ['v1-in-query', generate, '/openai/v1/images/generations?api-version=preview'],
];

describe('the query of api_base at Azure', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST]);
    const api_key = 'gateway-key-0123456789';
    proxy = await vendors.proxy(
      entries.map(([name, model, rest, params]) =>
        entry(name, { model, api_base: `https://${HOST}${rest}`, api_key, ...params }),
      ),
    );
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  cleanUp(() => ({ vendors, proxy }));

  it.each(targets.map(([name, send, url]) => [name, url, send] as const))(
    'goes upstream with all requests, beside one version: %s at %s',
    async (name, url, send) => {
      vendors.answers.set(
        HOST,
        json({ id: 'resp_1', object: 'response', model: 'm', data: [], choices: [], output: [] }),
      );
      await send(client, name);
      const line = vendors.take().at(-1)?.line ?? '';
      const separator = url.endsWith('?') ? '' : '&';
      const sorted = line.replace(/\?(.*)$/, (_query, pairs: string) => `?${pairs.split('&').sort().join('&')}`);
      expect(sorted.slice(sorted.indexOf(' ') + 1)).toBe(`https://${HOST}${url}${separator}${OWN_KEY}`);
    },
  );
});

/** Hosts of resources, and the path of chats. */
const sovereign = [
  ['res.services.ai.azure.us', '/models/chat/completions?api-version=2024-05-01-preview'],
  ['res.services.ai.azure.cn', '/models/chat/completions?api-version=2024-05-01-preview'],
  ['res.cognitiveservices.azure.us', '/chat/completions'],
  ['res.openai.azure.us', '/chat/completions'],
  ['res.openai.azure.cn', '/chat/completions'],
] as const;

describe('resources in the clouds of the US government and of China', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  beforeAll(async () => {
    vendors = await Vendors.start(sovereign.map(([host]) => host));
    proxy = await vendors.proxy(
      sovereign.map(([host]) =>
        entry(host, { model: 'azure_ai/Phi-4', api_base: `https://${host}`, api_key: 'resource-key-0123456789' }),
      ),
    );
  });
  cleanUp(() => ({ vendors, proxy }));

  it.each(sovereign)('get the key in the header api-key: %s at %s', async (host, path) => {
    vendors.answers.set(host, json({ id: 'c', object: 'chat.completion', created: 1, model: 'Phi-4', choices: [] }));
    await chat(new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 }), host);
    const { line, headers } = vendors.firstRequest();
    expect([line, headers['api-key'], headers.authorization]).toEqual([
      `POST https://${host}${path}`,
      'resource-key-0123456789',
      undefined,
    ]);
  });
});
