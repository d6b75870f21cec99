/** A proxy with keys and spend in front of HTTPS upstreams, and steps of a user at its console. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import type { Page } from 'playwright-core';
import { startTestProxy, type TestProxy } from '../../../model-proxy/test/harness/proxy.js';
import { API_KEY, TestUpstream } from '../../../model-proxy/test/harness/upstream.js';

/** The administrator's key. */
export const MASTER = 'sk-master-0123456789';
/** A name that would run a script if a page inserted it as HTML. */
export const HOSTILE = '<img src=x onerror=alert(1)>';

const price = { input_cost_per_token: 0.00001, output_cost_per_token: 0.00003 };

/** A proxy and its upstreams. */
export interface Gateway {
  readonly proxy: TestProxy;
  readonly upstream: TestUpstream;
  /** Serves the models `backup` and `any/*`. */
  readonly second: TestUpstream;
  close(): Promise<void>;
}

/** Options of {@link startGateway}. */
interface GatewayOptions {
  /** `general_settings` of the proxy. Default: a master key and a store. */
  readonly general?: object;
  readonly tokenMs?: number;
}

/** Starts two upstreams and a proxy. */
export async function startGateway({ general, tokenMs = 5 }: GatewayOptions = {}): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), 'rackless-gateway-'));
  const upstream = await TestUpstream.start({ tokenMs });
  const second = await TestUpstream.start({ tokenMs });
  const model = (name: string, { apiBase, caFile }: TestUpstream, info: object = price) => ({
    model_name: name,
    litellm_params: {
      ...{ model: 'hosted_vllm/sample-model', api_base: apiBase, api_key: API_KEY, ssl_verify: caFile },
    },
    model_info: { id: name, ...info },
  });
  // JSON is valid YAML.
  const configuration = JSON.stringify({
    model_list: [
      model('sample-large', upstream),
      model('sample-small', upstream),
      model(HOSTILE, upstream),
      model('backup', second, {}),
      model('any/*', second, {}),
    ],
    router_settings: { num_retries: 0 },
    general_settings: general ?? { master_key: MASTER, store: join(folder, 'store') },
  });
  const proxy = await startTestProxy(configuration);
  return {
    proxy,
    upstream,
    second,
    close: async () => {
      await proxy.close();
      await Promise.all([upstream.close(), second.close()]);
      rmSync(folder, { recursive: true });
    },
  };
}

/** Returns OpenAI's client with a key of the proxy. */
export function clientOf({ url }: TestProxy, apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

/** Logs in on a page that asks for a key. */
export async function logIn(page: Page, key: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Key' }).fill(key);
  await page.getByRole('dialog').getByRole('button', { name: 'Log in' }).click();
}

/** Opens a page of the menu. */
export async function openFromMenu(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
}
