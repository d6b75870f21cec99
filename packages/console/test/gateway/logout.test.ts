/** The logout of model-proxy's console in Chromium: the next user gets nothing of the former one. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { browserFixture } from '../harness/browser.js';
import { logIn, MASTER, openFromMenu, startGateway, type Gateway } from './fixture.js';

const SECRET = 'a question that no other user may see';

describe('a logout', () => {
  const { open } = browserFixture();
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({ tokenMs: 20 });
  });
  afterAll(() => gateway.close());

  /** Sends a change with the master key. */
  async function manage<Answer>(path: string, body: object): Promise<Answer> {
    const headers = { authorization: `Bearer ${MASTER}`, 'content-type': 'application/json' };
    const answer = await fetch(`${gateway.proxy.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Answer; // the caller knows the form
  }

  /** Opens the playground with a new virtual key. */
  async function openPlayground(): Promise<{ page: Page; key: string }> {
    const { key } = await manage<{ readonly key: string }>('/key/generate', { models: ['sample-large'] });
    const { page } = await open(`${gateway.proxy.url}/ui/playground`);
    await logIn(page, key);
    await page.getByLabel('System text').fill(SECRET);
    return { page, key };
  }

  /** Logs in as the next user, asks a question, and checks that this user neither sees nor sends the secret. */
  async function expectNothingOfFormerUser(page: Page): Promise<void> {
    const { length } = gateway.upstream.received;
    await logIn(page, MASTER);
    await openFromMenu(page, 'Playground');
    expect(await page.getByLabel('System text').inputValue()).toBe('');
    await send(page, 'Hello');
    await page.getByText('You said: Hello').waitFor();
    const sent = gateway.upstream.received.slice(length).map(({ json }) => json?.['messages']);
    expect(sent).toEqual([[{ role: 'user', content: 'Hello' }]]);
    expect(await page.locator('body').textContent()).not.toContain(SECRET);
  }

  it('ends the running answer, and drops the conversation', async () => {
    const { page } = await openPlayground();
    await send(page, `${SECRET} `.repeat(1000));
    await page.getByText(/^You said: a question/).waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    expect(await gateway.upstream.ended(gateway.upstream.last)).toBe('aborted');
    await page.getByRole('dialog').getByLabel('Key').waitFor();
    await expectNothingOfFormerUser(page);
  });

  it('drops requests that wait for a new login, even if the logout is in another tab', async () => {
    const { page, key } = await openPlayground();
    const tab = await page.context().newPage();
    await tab.goto(`${gateway.proxy.url}/ui/`);
    await tab.getByRole('link', { name: 'sample-large' }).waitFor();
    // This tab does not notice that the key is blocked.
    await tab.route(/\/model\/status$/, (route) => route.abort());
    await tab.getByText('Connecting …').waitFor();
    await manage('/key/block', { key });
    await send(page, SECRET);
    await page.getByText('The proxy does not accept your key any more.').waitFor();
    await tab.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('dialog', { name: 'Log in to model-proxy' }).waitFor();
    await expectNothingOfFormerUser(page);
  });
});

/** Sends a message in the playground. */
async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.getByLabel('Message').press('Enter');
}
