/** The console of model-proxy with texts of attackers in Chromium, and guesses of the master key. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startTestProxy, type TestProxy } from '../../../model-proxy/test/harness/proxy.js';
import { browserFixture, type OpenedPage } from '../harness/browser.js';
import { logIn, MASTER, openFromMenu } from './fixture.js';

/** Texts that do harm if a page uses them as HTML, an attribute, a URL, a script, a template or a key of an object. */
const attacks = [
  '<script>globalThis.hacked = 1</script>',
  '<img src=x onerror="globalThis.hacked = 2">',
  '"><svg onload="globalThis.hacked = 3">',
  "';globalThis.hacked = 4;//",
  'javascript:globalThis.hacked=5',
  '{{constructor.constructor("globalThis.hacked = 6")()}}',
  '</title></textarea><iframe srcdoc="<script>parent.hacked = 7</script>">',
  '__proto__',
] as const;
const [script, image] = attacks;
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

describe('the console of model-proxy under attack', () => {
  const { open } = browserFixture();
  const folder = mkdtempSync(join(tmpdir(), 'rackless-hostile-'));
  let upstream: Server;
  let proxy: TestProxy;
  let opened: OpenedPage;
  let page: Page;

  beforeAll(async () => {
    // The upstream answers the model `fails` with an error, and all others with a text. Both contain the attacks.
    upstream = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { model, stream } = JSON.parse(Buffer.concat(chunks).toString()) as { model: string; stream?: boolean };
        if (model === 'fails') {
          response.writeHead(500, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ error: { message: attacks.join(' '), type: image, code: script } }));
          return;
        }
        const content = attacks.join(' ');
        if (stream !== true) {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(
            JSON.stringify({
              id: image,
              object: 'chat.completion',
              model: image,
              choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
              usage,
            }),
          );
          return;
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const event = (delta: object, reason: string | null) =>
          `data: ${JSON.stringify({ id: image, object: 'chat.completion.chunk', model: image, choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
        response.end(`${event({ role: 'assistant', content }, null)}${event({}, 'stop')}data: [DONE]\n\n`);
      });
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const { port } = upstream.address() as AddressInfo; // a TCP server has an AddressInfo
    const model = (name: string, served: string, id: string) => ({
      model_name: name,
      litellm_params: { model: `hosted_vllm/${served}`, api_base: `http://127.0.0.1:${port}/v1` },
      model_info: { id, input_cost_per_token: 0.001 },
    });
    proxy = await startTestProxy(
      JSON.stringify({
        model_list: [
          ...attacks.map((attack, index) => model(attack, 'works', `${attack}-${index}`)),
          model('fails', 'fails', image),
        ],
        litellm_settings: { num_retries: 0 },
        general_settings: { master_key: MASTER, store: join(folder, 'store') },
      }),
    );
    opened = await open(`${proxy.url}/ui`);
    page = opened.page;
  });
  afterAll(async () => {
    await proxy.close();
    upstream.closeAllConnections();
    upstream.close();
    rmSync(folder, { recursive: true });
  });

  const manage = (path: string, body: object, key = MASTER) =>
    fetch(`${proxy.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  /** Checks that no text has run as a script or has become an element, and that the page has recorded no fault. */
  async function expectUnharmed(): Promise<void> {
    const state = await page.evaluate(() => ({
      hacked: (globalThis as { hacked?: number }).hacked ?? null, // a successful attack sets this property
      elements: document.querySelectorAll('img[src="x"], svg[onload], iframe, [onerror], a[href^="javascript:" i]')
        .length,
      scripts: [...document.scripts].filter(({ src }) => src === '').length,
    }));
    expect(state).toEqual({ hacked: null, elements: 0, scripts: 0 });
    expect(opened.faults).toEqual([]);
  }

  it('accepts the right key during 1,000 wrong ones, which the proxy rejects and does not log', async () => {
    const guesses = Array.from({ length: 1000 }, (_, n) => `sk-guess-${n}-${'x'.repeat(n)}`);
    const statuses = new Set<number>();
    const guess = async (key: string) => {
      const { status } = await fetch(`${proxy.url}/key/list`, { headers: { authorization: `Bearer ${key}` } });
      statuses.add(status);
    };
    const clients = Array.from({ length: 20 }, async () => {
      for (let key = guesses.pop(); key !== undefined; key = guesses.pop()) await guess(key);
    });
    // The administrator logs in meanwhile.
    await logIn(page, 'sk-guess-wrong');
    await page.getByText('The proxy does not accept this key.').waitFor();
    await logIn(page, MASTER);
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    await Promise.all(clients);
    expect([...statuses]).toEqual([401]);
    expect(proxy.logged().join('\n')).not.toContain('sk-guess-');
    expect((await fetch(`${proxy.url}/key/list`, { headers: { authorization: `Bearer ${MASTER}` } })).status).toBe(200);
    await expectUnharmed();
  });

  it('shows names of models as text, also after hostile answers and errors of the upstream', async () => {
    expect((await manage('/v1/chat/completions', { model: 'fails', messages: [] })).status).toBe(500);
    for (const attack of attacks) {
      const answer = await manage('/v1/chat/completions', {
        model: attack,
        messages: [],
        metadata: { tags: [attack] },
      });
      expect([attack, answer.status]).toEqual([attack, 200]);
    }
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    for (const attack of attacks) await page.getByRole('rowheader', { name: attack }).first().waitFor();
    await expectUnharmed();
  });

  it('shows names and tags of keys, and their spend, as text', async () => {
    for (const attack of attacks) {
      const made = await manage('/key/generate', {
        key_alias: attack,
        tags: [attack],
        models: [attack],
        user_id: attack,
        metadata: { note: attack },
      });
      expect([attack, made.status]).toEqual([attack, 200]);
      const { key } = (await made.json()) as { key: string };
      expect((await manage('/v1/chat/completions', { model: attack, messages: [] }, key)).status).toBe(200);
    }
    await openFromMenu(page, 'Keys');
    for (const attack of attacks) await page.getByRole('rowheader', { name: attack }).first().waitFor();
    await expectUnharmed();
    await openFromMenu(page, 'Spend');
    await page.getByRole('table', { name: 'Totals' }).getByRole('rowheader', { name: image }).first().waitFor();
    await page.getByText('Show as a table').click();
    await expectUnharmed();
  });

  it('shows answers and errors in the playground as text', async () => {
    await openFromMenu(page, 'Playground');
    const send = async (model: string, expected: string) => {
      await page.getByLabel('Model', { exact: true }).selectOption(model);
      await page.getByLabel('Message').fill(attacks.join(' '));
      await page.getByLabel('Message').press('Enter');
      await page.getByRole('log', { name: 'Conversation' }).getByText(expected).last().waitFor();
    };
    await send(script, 'constructor.constructor');
    await send('fails', 'InternalServerError');
    expect(await page.getByRole('log', { name: 'Conversation' }).textContent()).toContain(image);
    await expectUnharmed();
  });
});
