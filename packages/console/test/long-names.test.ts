/**
 * Long and misleading names of machines, volumes, images and events in Chromium: a name makes nothing wider than its
 * place, and the console shows its hidden characters as codes.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { startBmc, type Bmc } from './harness/bmc.js';
import { browserFixture, painted, takePictures } from './harness/browser.js';

const NAME = 'W'.repeat(255);
/**
 * The first name has the character U+202E, which reverses the direction of the text behind it. The second name has a
 * space without width.
 */
const [TURNED, INVISIBLE] = ['safe-\u202e1-edon', 'sh\u200bort'];
const HUGE = `${'W'.repeat(4999)}-${'W'.repeat(5000)}`;
const MACHINES = `machines:
- {name: ${NAME}, power_state: "On", failures: [{effect: error, operation: power_off, calls: 1}]}
- {name: short, power_state: "On"}
- {name: "safe-\\u202e1-edon", power_state: "On"}
- {name: "sh\\u200bort", power_state: "On"}
`;

const { open } = browserFixture();
let folder: string;
let bmc: Bmc;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-console-names-'));
  const file = join(folder, 'lab.yaml');
  writeFileSync(file, MACHINES);
  bmc = await startBmc({ args: ['--fake', '--fake-machines', file] });
});
afterAll(async () => {
  await bmc.stop();
  rmSync(folder, { recursive: true });
});

/** Returns how much wider the content of an element is than the element, at each width of the window. */
async function overflows(page: Page, element: Locator): Promise<readonly number[]> {
  const found: number[] = [];
  for (const width of [900, 375, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    found.push(await element.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
  }
  return found;
}

describe('a machine with a long name', () => {
  it('has its whole name in the question before an action', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    // Playwright clicks the middle of a link, which the cell hides, so the test presses a key.
    await page.getByRole('link', { name: NAME }).press('Enter');
    await page.getByRole('button', { name: 'Shut down' }).click();
    await page.getByRole('dialog').getByText(NAME).waitFor();
    await takePictures(page, 'long-name-question');
    expect(await overflows(page, page.getByRole('dialog'))).toEqual([0, 0, 0]);
    await page.context().close();
  });

  it('leaves space for the result of an action', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    await page.getByRole('checkbox', { name: 'Select all rows' }).check();
    await page.getByRole('region', { name: 'Actions' }).getByRole('button', { name: 'Force off' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Force off' }).click();
    await page.getByRole('dialog').getByText('Finished').waitFor();
    await takePictures(page, 'long-name-result');
    const results = page.getByRole('region', { name: 'Results' });
    expect(await overflows(page, results)).toEqual([0, 0, 0]);
    // The whole reason of a failure is visible, and a row without a reason is one line high.
    for (const width of [900, 375, 320, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await painted(page);
      const reason = await results.locator('.reason').evaluate((text) => text.scrollHeight - text.clientHeight);
      const row = await results.getByRole('row', { name: 'short' }).boundingBox();
      expect([width, reason, Math.round(row?.height ?? NaN)]).toEqual([width, 0, 34]);
    }
    await page.context().close();
  });
});

/** Returns the hidden characters in the texts, names and title of the page. */
const hiddenCharacters = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const labels = [...document.querySelectorAll('[aria-label], [title]')].flatMap((each) => [
      each.getAttribute('aria-label') ?? '',
      each.getAttribute('title') ?? '',
    ]);
    const all = [document.title, document.body.textContent, ...labels].join('\n');
    return all.match(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069]/g) ?? [];
  });

describe('a machine with hidden characters in its name', () => {
  beforeAll(async () => {
    const answer = await bmc.ask('GET', '/redfish/v1/Systems?$expand=.($levels=1)');
    const { Members } = (await answer.json()) as {
      readonly Members: readonly { readonly '@odata.id': string; readonly PowerState: string }[]; // a collection
    };
    for (const { '@odata.id': uri, PowerState } of Members) {
      if (PowerState === 'On') continue;
      const { ok } = await bmc.ask('POST', `${uri}/Actions/ComputerSystem.Reset`, { ResetType: 'On' });
      expect(ok).toBe(true);
    }
  });

  it('has them as visible codes in the list, on its page, and in the question before an action', async () => {
    const { page, faults } = await open(`${bmc.address}/ui/`);
    await page.getByRole('link', { name: 'sh[U+200B]ort' }).waitFor();
    expect(await hiddenCharacters(page)).toEqual([]);
    await page.getByRole('link', { name: 'safe-[U+202E]1-edon' }).click();
    await page.getByRole('heading', { level: 1, name: 'safe-[U+202E]1-edon' }).waitFor();
    await page.getByText('More actions').click();
    await page.getByRole('button', { name: 'Force off' }).click();
    await page.getByRole('dialog', { name: 'Force safe-[U+202E]1-edon off?' }).waitFor();
    await page.waitForFunction(() => document.title.startsWith('safe-[U+202E]1-edon'));
    expect([await hiddenCharacters(page), faults]).toEqual([[], []]);
    await page.context().close();
  });

  it('has them as codes in the question for many machines', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    for (const name of ['short', 'sh[U+200B]ort'])
      await page.getByRole('checkbox', { name: `Select ${name}`, exact: true }).check();
    await page.getByRole('region', { name: 'Actions' }).getByRole('button', { name: 'Force off' }).click();
    await page.getByRole('dialog').getByText('sh[U+200B]ort').waitFor();
    expect(await hiddenCharacters(page)).toEqual([]);
    await page.context().close();
  });
});

describe('a hostile name', () => {
  it('has visible codes in the question before a volume is deleted; the user types it with the codes', async () => {
    const { page, faults } = await open(`${bmc.address}/ui/`);
    await page.getByRole('link', { name: 'short', exact: true }).click();
    await page.getByRole('link', { name: 'Storage', exact: true }).click();
    await page.getByRole('button', { name: 'Create a volume' }).click();
    await page.getByRole('dialog').getByLabel('Name (optional)').fill(TURNED);
    await page.getByRole('dialog').getByRole('button', { name: 'Create a volume' }).click();
    const row = page.getByRole('row', { name: /^safe-\[U\+202E\]1-edon/ });
    await row.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete safe-[U+202E]1-edon?' });
    expect(await hiddenCharacters(page)).toEqual([]);
    await dialog.getByLabel(/^Type/).fill('safe-[U+202E]1-edon');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('is shortened in the question before an image is ejected, so that the question fits into the window', async () => {
    const { page, faults } = await open('about:blank');
    await page.route('**/VirtualMedia?*', async (route) => {
      const answer = await route.fetch();
      const body = (await answer.json()) as { readonly Members: readonly object[] }; // the answer is a collection
      const Members = body.Members.map((drive) => ({
        ...drive,
        Inserted: true,
        ConnectedVia: 'URI',
        Image: `http://192.0.2.1/${HUGE}`,
        ImageName: `${TURNED}${HUGE}`,
        Actions: { '#VirtualMedia.EjectMedia': { target: '/' } },
      }));
      await route.fulfill({ response: answer, json: { ...body, Members } });
    });
    await page.goto(`${bmc.address}/ui/`);
    await page.getByRole('link', { name: 'short', exact: true }).click();
    await page.getByRole('link', { name: 'Media', exact: true }).click();
    await page.getByRole('button', { name: 'Eject' }).first().click();
    const dialog = page.getByRole('dialog', { name: /^Eject safe-\[U\+202E\]1-edonW+ … \d+ more characters …/ });
    await dialog.waitFor();
    expect(await hiddenCharacters(page)).toEqual([]);
    expect(await overflows(page, dialog)).toEqual([0, 0, 0]);
    expect(await overflows(page, page.locator('main'))).toEqual([0, 0, 0]);
    // A window of a usual height shows the buttons.
    await page.setViewportSize({ width: 1440, height: 900 });
    const { y = NaN, height = NaN } = (await dialog.getByRole('button', { name: 'Eject' }).boundingBox()) ?? {};
    expect(y + height).toBeLessThan(900);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('widens neither the list, nor the page of the machine, nor the question before an action', async () => {
    const { page, faults } = await open('about:blank');
    await page.route(/\/Systems(\?|\/[^/?]+\?)/, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: (await answer.text()).replaceAll(NAME, HUGE) });
    });
    await page.goto(`${bmc.address}/ui/`);
    const link = page.getByRole('link', { name: /^W+ … \d+ more characters … W+$/ });
    await link.waitFor();
    expect(await overflows(page, page.locator('main'))).toEqual([0, 0, 0]);
    await link.press('Enter');
    await page.getByRole('heading', { level: 1, name: /more characters/ }).waitFor();
    expect(await overflows(page, page.locator('main'))).toEqual([0, 0, 0]);
    await page.getByRole('button', { name: 'Shut down' }).click();
    expect(await overflows(page, page.getByRole('dialog'))).toEqual([0, 0, 0]);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('has visible codes in the text of an event', async () => {
    const { page, faults } = await open(`${bmc.address}/ui/`);
    await page.getByRole('link', { name: 'safe-[U+202E]1-edon' }).click();
    const id = page.url().split('/').at(-1) ?? '';
    await bmc.ask('PATCH', `/redfish/v1/Systems/${id}`, { AssetTag: INVISIBLE });
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    await page.getByText('[U+202E]').first().waitFor();
    await page.getByRole('rowheader').first().waitFor();
    expect([await hiddenCharacters(page), faults]).toEqual([[], []]);
    await page.context().close();
  });
});
