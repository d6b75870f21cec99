/** The console of model-proxy with many keys and long names in Chromium. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { call } from '../../../model-proxy/test/harness/call.js';
import { browserFixture, takePictures } from '../harness/browser.js';
import { clientOf, logIn, MASTER, openFromMenu, startGateway, type Gateway } from './fixture.js';

/** More keys than a page of the list or the spend report shows. */
const KEYS = 103;
/** The longest alias that the proxy accepts. */
const LONG = 'W'.repeat(256);

describe('the console with 103 keys', () => {
  const { open } = browserFixture();
  let gateway: Gateway;
  let page: Page;
  beforeAll(async () => {
    gateway = await startGateway({ tokenMs: 0 });
    for (let n = 1; n <= KEYS; n += 1) {
      const alias = n === KEYS ? LONG : `key-${n}`;
      const answer = await call(`${gateway.proxy.url}/key/generate`, {
        ...{ method: 'POST', headers: { authorization: `Bearer ${MASTER}` }, body: { key_alias: alias } },
      });
      const { key } = answer.json() as { key: string };
      await clientOf(gateway.proxy, key).chat.completions.create({
        ...{ model: 'sample-large', messages: [{ role: 'user', content: 'Hello' }] },
      });
    }
    ({ page } = await open(`${gateway.proxy.url}/ui`));
    await logIn(page, MASTER);
  }, 120_000);
  afterAll(() => gateway.close());

  it('shows the usage of 100 of 103 keys, says so, and has one column for the others in the daily table', async () => {
    await openFromMenu(page, 'Spend');
    await page.getByText('The table has the 100 largest of 103.').waitFor();
    expect(await page.getByRole('table', { name: 'Totals' }).getByRole('rowheader').count()).toBe(100);
    await page.getByText('Show as a table').click();
    const titles = await page.getByRole('table', { name: 'Spend by day' }).getByRole('columnheader').allTextContents();
    expect(titles).toHaveLength(7);
    expect(titles.at(-1)).toBe('Others');
    await takePictures(page, 'spend-many-keys');
  });

  it('shows the keys, also the one with the longest alias, in a table that does not scroll sideways', async () => {
    await openFromMenu(page, 'Keys');
    await page.getByText('103 virtual keys').waitFor();
    const table = page.getByRole('region', { name: 'Virtual keys' });
    await page.getByRole('rowheader', { name: LONG }).waitFor();
    expect(await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    await takePictures(page, 'many-keys');
  });

  it('shows the first page when the last key of the second page was revoked', async () => {
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByText('Page 2 of 2').waitFor();
    for (const name of ['key-1', 'key-2', 'key-3']) {
      await page.getByRole('button', { name: `Revoke ${name}`, exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: 'Revoke key-4', exact: true }).waitFor();
    expect(await page.getByRole('table', { name: 'Virtual keys' }).getByRole('rowheader').count()).toBe(100);
  });
});
