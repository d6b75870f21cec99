/** The console of model-proxy in Chromium, with real requests, keys and limits. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  accessibilityFaults,
  browserFixture,
  openLateTab,
  painted,
  takePictures,
  type OpenedPage,
} from '../harness/browser.js';
import { dialogFaults } from '../harness/dialog.js';
import { tabOrderFaults } from '../harness/tab-order.js';
import { clientOf, HOSTILE, logIn, MASTER, openFromMenu, startGateway, type Gateway } from './fixture.js';

const messages = [{ role: 'user' as const, content: 'Hello, what can you do for me today?' }];

describe('the console of model-proxy', () => {
  const { open } = browserFixture();
  let gateway: Gateway;
  let opened: OpenedPage;
  let page: Page;
  beforeAll(async () => {
    gateway = await startGateway();
    opened = await open(`${gateway.proxy.url}/ui`);
    page = opened.page;
  });
  afterAll(() => gateway.close());
  afterEach(() => expect(opened.faults).toEqual([]));

  it('rejects a wrong key and accepts the master key', async () => {
    await logIn(page, 'sk-wrong');
    await page.getByText('The proxy does not accept this key.').waitFor();
    expect(await dialogFaults(page, 'login')).toEqual([]);
    await logIn(page, MASTER);
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    await page.getByRole('link', { name: 'sample-large' }).waitFor();
  });

  it('stays logged in after a reload and in another tab, and keeps the key out of the storage', async () => {
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    const stored = await page.evaluate(() =>
      JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage), document.cookie]),
    );
    expect(stored).not.toContain(MASTER);
    const tab = await page.context().newPage();
    await tab.goto(`${gateway.proxy.url}/ui/keys`);
    await tab.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    await tab.close();
  });

  it('finds the login of another tab that is too busy to answer at once', async () => {
    const { tab, ask } = await openLateTab(page, `${gateway.proxy.url}/ui/`);
    await tab.getByRole('dialog').getByLabel('Key').waitFor();
    await ask();
    await tab.getByRole('link', { name: 'sample-large' }).waitFor();
    await tab.close();
  });

  it.each(['', 'keys', 'spend', 'playground'])(
    'is usable with the Tab key, and not wider than a window of 320 pixels: the page %p',
    async (path) => {
      await page.goto(`${gateway.proxy.url}/ui/${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      for (const width of [1440, 375]) {
        await page.setViewportSize({ width, height: 900 });
        await painted(page);
        expect([width, await tabOrderFaults(page)]).toEqual([width, []]);
      }
      // A window of 1280 pixels at a zoom of 400 %.
      await page.setViewportSize({ width: 320, height: 256 });
      await painted(page);
      const wide = await page.evaluate(() =>
        [document.documentElement, ...document.querySelectorAll('main, .bar')]
          .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
          .map(({ localName, scrollWidth }) => `${localName}: ${scrollWidth}`),
      );
      expect(wide).toEqual([]);
      await page.setViewportSize({ width: 1440, height: 900 });
    },
  );

  it('creates a key with limits, and shows what an SDK spends with this key', async () => {
    const key = await createKey(page, 'team-a', async (picture) =>
      expect(await dialogFaults(page, picture)).toEqual([]),
    );
    const client = clientOf(gateway.proxy, key);
    await client.chat.completions.create({ model: 'sample-large', messages });
    await expect(client.chat.completions.create({ model: 'backup', messages })).rejects.toMatchObject({ status: 403 });
    for (const each of [1, 2, 3]) await client.chat.completions.create({ model: 'sample-large', messages, n: each });
    await expect(client.chat.completions.create({ model: 'sample-large', messages })).rejects.toMatchObject({
      status: 429,
    });

    await openFromMenu(page, 'Spend');
    await page.getByRole('table', { name: 'Totals' }).getByRole('rowheader', { name: 'team-a' }).waitFor();
    await page.getByText('Show as a table').click();
    const today = new Date().toISOString().slice(0, 10);
    const cells = page.getByRole('table', { name: 'Spend by day' }).getByRole('row', { name: today }).getByRole('cell');
    expect(await cells.first().textContent()).toMatch(/^\$0\.\d+$/);
    await page.getByText('Show as a table').click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    expect(await textOf(await (await download).createReadStream())).toContain('team-a');
    expect(await accessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'spend');
  });

  it('shows the spend of the chosen period, also if an earlier answer arrives later', async () => {
    await openFromMenu(page, 'Spend');
    const days = (url: URL): number => {
      const [start, end] = ['start_date', 'end_date'].map((name) => Date.parse(url.searchParams.get(name) ?? ''));
      return ((end ?? NaN) - (start ?? NaN)) / 86_400_000 + 1;
    };
    const waiting: (() => Promise<void>)[] = [];
    await page.route(
      (url) => url.pathname === '/usage/daily',
      async (route) => {
        const count = days(new URL(route.request().url()));
        const used = { requests: 1, failed_requests: 0, prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
        const sums = { ...used, spend: 1, daily: [1] };
        const groups = [{ name: 'digest', key_alias: `period of ${count}`, ...sums }];
        const answer = (): Promise<void> =>
          route.fulfill({ json: { days: ['2026-11-30'], groups, others: { count: 0, ...sums } } });
        if (count === 90) waiting.push(answer);
        else await answer();
      },
    );
    const shown = page.getByRole('table', { name: 'Totals' }).getByRole('rowheader');
    await page.getByLabel('Period').selectOption('90');
    while (waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await page.getByLabel('Period').selectOption('7');
    await shown.getByText('period of 7', { exact: true }).waitFor();
    const late = page.waitForResponse((response) => days(new URL(response.url())) === 90);
    for (const answer of waiting) await answer();
    await (await late).finished();
    // Two frames after an answer, the page shows all effects of the answer.
    await page.evaluate('new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))');
    expect(await shown.allTextContents()).toEqual(['period of 7']);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('edits, blocks, unblocks and revokes a key, and a blocked or revoked key gets 401', async () => {
    const key = await createKey(page, 'team-b');
    const ask = async (): Promise<unknown> => clientOf(gateway.proxy, key).models.list();
    await page.getByRole('button', { name: 'Edit team-b' }).click();
    expect(await dialogFaults(page, 'edit-key')).toEqual([]);
    await page.getByLabel('Tokens per minute').fill('5000');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('5,000 tokens/min').waitFor();

    await page.getByRole('button', { name: 'Block team-b' }).click();
    expect(await dialogFaults(page, 'block-key')).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Block' }).click();
    await page.getByRole('button', { name: 'Unblock team-b' }).waitFor();
    await expect(ask()).rejects.toMatchObject({ status: 401 });
    await page.getByRole('button', { name: 'Unblock team-b' }).click();
    await page.getByRole('button', { name: 'Block team-b', exact: true }).waitFor();
    await ask();
    expect(await accessibilityFaults(page)).toEqual([]);
    // All buttons of a key are visible at each width.
    for (const width of [900, 375, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const table = page.getByRole('region', { name: 'Virtual keys' });
      expect(await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    }
    await takePictures(page, 'keys');

    await page.getByRole('button', { name: 'Revoke team-b' }).click();
    await page.getByText('Access with this key: its requests get 401 from now on').waitFor();
    expect(await dialogFaults(page, 'revoke-key')).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('rowheader', { name: 'team-b' }).waitFor({ state: 'detached' });
    await expect(ask()).rejects.toMatchObject({ status: 401 });
  });

  it('shows a streamed answer in the playground as text, not as HTML, with tokens, cost and time', async () => {
    await openFromMenu(page, 'Playground');
    await page.getByLabel('System text').fill('Be short.');
    await page.getByLabel('Temperature').fill('0.5');
    await send(page, HOSTILE);
    await page.getByText('tokens in').waitFor();
    const said = await page.getByRole('log', { name: 'Conversation' }).textContent();
    expect(said).toContain(HOSTILE);
    expect(said).toMatch(/first token \d/);
    expect(said).toMatch(/cost \$0\.\d/);
    expect(gateway.upstream.last.json).toMatchObject({
      temperature: 0.5,
      messages: [{ role: 'system' }, { role: 'user' }],
    });
    await send(page, 'And this is a second, longer question about the weather in the mountains.');
    await page.getByText('tokens in').nth(1).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'playground');
  });

  it('shows a long question and a long answer completely, without codes for hidden characters', async () => {
    const long = (name: string): string => `${name} ${'word '.repeat(500)}\u200e end`;
    const chunk = { object: 'chat.completion.chunk', created: 1, id: 'long', model: 'sample-model' };
    const choices = [{ index: 0, delta: { content: long('answer') }, finish_reason: 'stop' }];
    const write = `data: ${JSON.stringify({ ...chunk, choices })}\n\ndata: [DONE]\n\n`;
    await page.route('**/chat/completions', (route, request) =>
      // The body is a JSON object.
      route.continue({ postData: { ...(request.postDataJSON() as object), script: [{ write }, { end: true }] } }),
    );
    const turns = page.locator('.turn');
    const before = await turns.count();
    await send(page, long('question'));
    const turn = turns.nth(before);
    await turn.locator('.answer .numbers small').first().waitFor();
    expect(await turn.locator('.said.question p').textContent()).toBe(long('question'));
    expect(await turn.locator('.said.answer p').first().textContent()).toBe(long('answer'));
    await page.unroute('**/chat/completions');
  });

  it.each([
    ['ends without its end mark', 'data: {"choices":[{"delta":{"content":"Half an"}}]}\n\n'],
    ['has an event that is null', 'data: {"choices":[{"delta":{"content":"Half an"}}]}\n\ndata: null\n\n'],
  ])('says in the playground that an answer is not complete if its stream %s', async (_what, body) => {
    await openFromMenu(page, 'Playground');
    await page.route('**/v1/chat/completions', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
    const turns = page.locator('.turn');
    const before = await turns.count();
    await send(page, 'Tell me all');
    await turns.nth(before).getByText('Half an').waitFor();
    await turns.nth(before).getByText('The answer is not complete.').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('shows an answer in the playground as complete if its stream ends with a finish_reason only', async () => {
    await openFromMenu(page, 'Playground');
    const body = 'data: {"choices":[{"delta":{"content":"A whole"},"finish_reason":"stop"}]}\n\n';
    await page.route('**/v1/chat/completions', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
    const turns = page.locator('.turn');
    const before = await turns.count();
    await send(page, 'Tell me all');
    const turn = turns.nth(before);
    await turn.locator('.answer .numbers small').first().waitFor();
    expect(await turn.getByText('The answer is not complete.').count()).toBe(0);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('shows notifications above the Send button, not over it', async () => {
    await openFromMenu(page, 'Playground');
    for (const width of [900, 375, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const [composer, toasts] = await page.evaluate(() =>
        ['.composer', '.toasts'].map((name) => document.querySelector(name)?.getBoundingClientRect()),
      );
      expect(toasts?.bottom).toBeLessThanOrEqual(composer?.top ?? NaN);
    }
  });

  it('shows a dead upstream as failing, with the kind of its failures', async () => {
    await gateway.second.stop();
    const client = clientOf(gateway.proxy, MASTER);
    await expect(client.chat.completions.create({ model: 'backup', messages })).rejects.toBeDefined();
    await openFromMenu(page, 'Models');
    const row = page.getByRole('row', { name: 'backup' });
    await row.getByText(/Failing|Cooling down/).waitFor();
    await row.getByText('connection failed × 1').waitFor();
    await page.getByRole('rowheader', { name: HOSTILE }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'models');
    await gateway.second.restart();
  });

  it('logs out in all tabs', async () => {
    const tab = await page.context().newPage();
    await tab.goto(`${gateway.proxy.url}/ui/`);
    await tab.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('dialog').getByLabel('Key').waitFor();
    await tab.close();
  });

  it('shows the models and limits of a virtual key, and asks for a key again when this key is revoked', async () => {
    await logIn(page, MASTER);
    await openFromMenu(page, 'Keys');
    const key = await createKey(page, 'team-c');
    const other = await open(`${gateway.proxy.url}/ui/`);
    await logIn(other.page, key);
    await other.page.getByRole('link', { name: 'sample-large' }).waitFor();
    const menu = other.page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    expect(await menu.allTextContents()).toEqual(['Models', 'Playground', 'This key']);
    expect(await other.page.getByRole('rowheader').allTextContents()).toEqual([expect.stringMatching(/^sample-large/)]);
    await openFromMenu(other.page, 'This key');
    await other.page.getByText('5 requests/min').waitFor();
    await takePictures(other.page, 'own-key');

    await openFromMenu(other.page, 'Playground');
    await other.page.getByLabel('System text').fill('Kept over the login');
    await page.getByRole('button', { name: 'Revoke team-c' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await other.page.getByText('The proxy does not accept your key any more.').waitFor();
    expect(await dialogFaults(other.page, 'login-again')).toEqual([]);
    await logIn(other.page, MASTER);
    await other.page.getByRole('link', { name: 'Spend' }).waitFor();
    expect(await other.page.getByLabel('System text').inputValue()).toBe('Kept over the login');
    expect(other.faults).toEqual([]);
  });
});

describe('the console of a proxy', () => {
  const { open } = browserFixture();

  it.each([
    ['without a master key opens without a login, and says so', {}, 'No master key is configured'],
    ['without a store says that no store is configured', { master_key: MASTER }, 'No store is configured'],
  ])('%s', async (_title, general, notice) => {
    const gateway = await startGateway({ general });
    try {
      const { page, faults } = await open(`${gateway.proxy.url}/ui/`);
      if ('master_key' in general) await logIn(page, MASTER);
      await page.getByText(notice).waitFor();
      const menu = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
      expect(await menu.allTextContents()).toEqual(['Models', 'Playground']);
      await openFromMenu(page, 'Playground');
      await send(page, 'Hello');
      await page.getByText('You said: Hello').waitFor();
      expect(faults).toEqual([]);
      await takePictures(page, 'without-keys');
    } finally {
      await gateway.close();
    }
  });

  it('stops an answer, and ends the request to the upstream', async () => {
    const gateway = await startGateway({ general: {}, tokenMs: 50 });
    try {
      const { page } = await open(`${gateway.proxy.url}/ui/playground`);
      await send(page, 'word '.repeat(2000));
      await page.getByText(/^You said: word/).waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByText('Stopped').waitFor();
      expect(await gateway.upstream.ended(gateway.upstream.last)).toBe('aborted');
    } finally {
      await gateway.close();
    }
  });
});

/**
 * Creates a key for the model `sample-large` with five requests per minute, a budget and an end date.
 * @param look called at each dialog, with a name for its picture. It can check the dialog.
 * @returns the key.
 */
async function createKey(
  page: Page,
  alias: string,
  look: (picture: string) => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  await openFromMenu(page, 'Keys');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Alias', { exact: true }).fill(alias);
  await page.getByLabel('sample-large').check();
  await page.getByLabel('Requests per minute').fill('5');
  await page.getByLabel('Budget in US dollars').fill('10');
  await page.getByLabel('Expires after').selectOption('30 days');
  await look('create-key');
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  const field = page.getByRole('dialog').getByLabel('Key', { exact: true });
  const key = await field.inputValue();
  await look('new-key');
  // Everything behind the dialog is inert, so the message is in the dialog.
  await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).first().click();
  await page.getByRole('dialog').getByText('Copied.').last().waitFor();
  await page.getByRole('button', { name: 'I have copied the key' }).click();
  await page.getByRole('rowheader', { name: alias }).waitFor();
  return key;
}

/** Sends a message in the playground. */
async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.getByLabel('Message').press('Enter');
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
