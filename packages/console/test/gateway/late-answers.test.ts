/** Answers to the form for a key in Chromium that arrive after the user has closed the form. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { browserFixture } from '../harness/browser.js';
import { logIn, MASTER, openFromMenu, startGateway, type Gateway } from './fixture.js';

describe('the form for a key', () => {
  const { open } = browserFixture();
  let gateway: Gateway;
  let page: Page;
  beforeAll(async () => {
    gateway = await startGateway();
    for (const alias of ['first', 'second'])
      await fetch(`${gateway.proxy.url}/key/generate`, {
        method: 'POST',
        headers: { authorization: `Bearer ${MASTER}`, 'content-type': 'application/json' },
        body: JSON.stringify({ key_alias: alias }),
      });
    ({ page } = await open(`${gateway.proxy.url}/ui`));
    await logIn(page, MASTER);
    await openFromMenu(page, 'Keys');
  });
  afterAll(() => gateway.close());

  /** Submits the open form and closes it before the answer. @returns a function that lets its argument answer the request. */
  async function submitAndClose(path: string, button: string): Promise<(answer: (route: Route) => void) => void> {
    const held = new Promise<Route>((resolve) => void page.route((url) => url.pathname === path, resolve));
    await page.getByRole('dialog').getByRole('button', { name: button }).click();
    const route = await held;
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    return (answer) => answer(route);
  }

  /** Opens the form for the key `name`, and types `limit` as its requests per minute. */
  async function edit(name: string, limit: string): Promise<void> {
    await page.getByRole('button', { name: `Edit ${name}` }).click();
    await page.getByLabel('Requests per minute').fill(limit);
  }

  it('stays open for another key when the answer for the former key arrives', async () => {
    await edit('first', '11');
    const release = await submitAndClose('/key/update', 'Save');
    await edit('second', '22');
    release((route) => void route.continue());
    await page.getByText('first is saved.').waitFor();
    const dialog = page.getByRole('dialog', { name: 'Edit second' });
    expect(await dialog.getByLabel('Requests per minute').inputValue()).toBe('22');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('11 requests/min').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('reports a late failure with the name of the key, and stays open for another key', async () => {
    await edit('first', '33');
    const release = await submitAndClose('/key/update', 'Save');
    await edit('second', '44');
    release((route) => void route.fulfill({ status: 503, json: { error: { message: 'The store is busy.' } } }));
    await page.getByText(/Edit first.*The store is busy\./).waitFor();
    const dialog = page.getByRole('dialog', { name: 'Edit second' });
    expect(await dialog.getByLabel('Requests per minute').inputValue()).toBe('44');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('shows a new key even if it was closed before the answer, because no later page can show the key', async () => {
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('Alias', { exact: true }).fill('third');
    const release = await submitAndClose('/key/generate', 'Create key');
    release((route) => void route.continue());
    const dialog = page.getByRole('dialog', { name: 'The key of third' });
    const key = await dialog.getByLabel('Key', { exact: true }).inputValue();
    const answer = await fetch(`${gateway.proxy.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect(answer.status).toBe(200);
    await dialog.getByRole('button', { name: 'I have copied the key' }).click();
    await page.getByRole('rowheader', { name: 'third' }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });
});
