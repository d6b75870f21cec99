/** A machine with the longest possible name in Chromium: its dialogs hide nothing, at three widths. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { startBmc, type Bmc } from './harness/bmc.js';
import { browserFixture, painted, takePictures } from './harness/browser.js';

const NAME = 'W'.repeat(255);
const MACHINES = `machines:
- {name: ${NAME}, power_state: "On", failures: [{effect: error, operation: power_off, calls: 1}]}
- {name: short, power_state: "On"}
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
    // Playwright clicks the middle of a link, which the cell hides.
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
