/** Starts upstreams and a proxy in front of them, and sends requests. */
import { Agent, request } from 'node:http';
import { afterEach } from '@jest/globals';
import { startTestProxy, type TestProxy, type TestProxyOptions } from '../harness/proxy.js';
import { startFaultyUpstream, type Behavior, type FaultyUpstream } from './faulty-upstream.js';

export const messages = [{ role: 'user', content: 'Hello' }];

/** An answer of the proxy. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A proxy and its upstreams. */
export interface Setup {
  readonly proxy: TestProxy;
  readonly upstreams: readonly FaultyUpstream[];
  /** Sends a chat request. */
  readonly ask: (body?: object, headers?: Readonly<Record<string, string>>) => Promise<Reply>;
  /** Sends a number of chat requests over at most 16 connections. */
  readonly askMany: (count: number, body?: object) => Promise<readonly Reply[]>;
}

/** A deployment of a test. */
export interface TestModel {
  /** Default: `chat`. */
  readonly name?: string;
  /** Default: the id is the position in the list, from 0. */
  readonly id?: string;
  readonly behavior?: Behavior;
  /** Members of `litellm_params`. */
  readonly params?: object;
  /** Members of `model_info`. */
  readonly info?: object;
}

/** Blocks of the configuration. */
export interface Blocks {
  readonly router_settings?: object;
  readonly litellm_settings?: object;
  readonly general_settings?: object;
  readonly callback_settings?: object;
}

/** Returns a configuration with a deployment for each model. */
export function configOf(
  models: readonly TestModel[],
  upstreams: readonly FaultyUpstream[],
  blocks: Blocks = {},
): string {
  const entries = models.map(({ name = 'chat', id, params = {}, info = {} }, index) => ({
    model_name: name,
    litellm_params: {
      model: 'hosted_vllm/m',
      api_base: upstreams[index]?.apiBase,
      api_key: 'sk-upstream',
      ...params,
    },
    model_info: { ...info, id: id ?? String(index) },
  }));
  // JSON is valid YAML.
  return JSON.stringify({ model_list: entries, ...blocks });
}

/** Returns a function that starts a proxy and its upstreams. All of them end after the test. */
export function useSetups(): (
  models: readonly TestModel[],
  blocks?: Blocks,
  options?: TestProxyOptions,
) => Promise<Setup> {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });
  return async (models, blocks, options) => {
    const upstreams = await Promise.all(models.map(({ behavior }) => startFaultyUpstream(behavior)));
    for (const upstream of upstreams) closing.push(() => upstream.close());
    const proxy = await startTestProxy(configOf(models, upstreams, blocks), options);
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    closing.push(async () => {
      agent.destroy();
      await proxy.close();
    });
    const ask: Setup['ask'] = (body, headers) => send(`${proxy.url}/v1/chat/completions`, agent, body, headers);
    const askMany: Setup['askMany'] = (count, body) => Promise.all(Array.from({ length: count }, () => ask(body)));
    return { proxy, upstreams, ask, askMany };
  };
}

function send(
  url: string,
  agent: Agent,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent, headers: { 'content-type': 'application/json', ...headers } };
    const sent = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ model: 'chat', messages, ...body }));
  });
}

/** Counts the replies by their status: `{200: 3}`. */
export function statuses(replies: readonly Reply[]): Readonly<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
