/** The tabs Telemetry, Events, Console log and JSON of a machine in Chromium. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { logIn, startBmc, type Bmc, type User } from './harness/bmc.js';
import { accessibilityFaults, browserFixture, takePictures, type OpenedPage } from './harness/browser.js';

const HOSTILE = '<img src=x onerror=alert(1)>';

const { open } = browserFixture();
let bmc: Bmc;
let machine: string;
beforeAll(async () => {
  bmc = await startBmc({ users: true });
  const { Members } = (await (await bmc.ask('GET', "/redfish/v1/Systems?$filter=Name eq 'node-1'")).json()) as {
    readonly Members: readonly { readonly '@odata.id': string }[]; // a collection
  };
  machine = Members[0]?.['@odata.id'] ?? '';
});
afterAll(() => bmc.stop());

const openTab = async (user: User, tab: string): Promise<OpenedPage> => {
  const opened = await open(`${bmc.address}/ui/systems/${machine.split('/').at(-1) ?? ''}/${tab}`);
  await logIn(opened.page, user);
  return opened;
};
const reset = (ResetType: string) => bmc.ask('POST', `${machine}/Actions/ComputerSystem.Reset`, { ResetType });
const close = async ({ page, faults }: OpenedPage): Promise<void> => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect([colorScheme, await accessibilityFaults(page)]).toEqual([colorScheme, []]);
  }
  await page.setViewportSize({ width: 375, height: 800 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  // The row of tabs shows the open one, also after the window became narrow.
  await page.waitForFunction(() => {
    const { left = -1, right = Infinity } =
      document.querySelector('.tabs [aria-current]')?.getBoundingClientRect() ?? {};
    return left >= 0 && right <= 375;
  });
  expect(faults).toEqual([]);
  await page.context().close();
};
const event = (page: Page, text: string) => page.getByRole('row', { name: text }).first();
const download = async (page: Page): Promise<string> => {
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  return readFileSync(await (await downloading).path(), 'utf8');
};

it('the events appear live, are filtered, and are cleared', async () => {
  const opened = await openTab('admin', 'events');
  const { page } = opened;
  await reset('On');
  await event(page, 'powered on').waitFor();
  await reset('ForceOff');
  await event(page, 'powered off').waitFor();
  await reset('On');
  expect(await page.getByRole('row').nth(1).getByRole('time').innerText()).toMatch(/\d:\d\d:\d\d/);
  await page.getByRole('searchbox').fill('PoweredOff');
  await event(page, 'powered on').waitFor({ state: 'detached' });
  await page.getByRole('combobox', { name: 'Severity' }).selectOption('Critical');
  await page.getByText('No event matches').waitFor();
  await page.getByRole('combobox', { name: 'Severity' }).selectOption('');
  await takePictures(page, 'events');
  // On a phone, the table does not scroll sideways, and each row has its time.
  await page.setViewportSize({ width: 360, height: 800 });
  await page.getByRole('row').nth(1).getByRole('time').waitFor();
  const region = page.locator('.scroll.virtual');
  expect(await region.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  const text = page.getByRole('rowheader').first();
  expect(await text.evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)).toBe(0);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole('button', { name: 'Clear the log' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Clear the log' }).click();
  await page.getByText('The event log was cleared.').waitFor();
  await close(opened);
});

it('the list of events shows rows, and no empty space, after a narrow window has made its rows higher', async () => {
  for (let count = 0; count < 80; count += 1) await reset(count % 2 === 0 ? 'ForceOff' : 'On');
  const { page } = await openTab('admin', 'events');
  const region = page.locator('.scroll.virtual');
  await region.evaluate((element) => {
    // Chromium keeps the rows in place by scrolling, but Safari does not. The test disables this scrolling.
    element.style.setProperty('overflow-anchor', 'none');
    element.scrollTop = 2000;
  });
  await page.getByRole('row').and(page.locator('[aria-rowindex="60"]')).waitFor();
  await page.setViewportSize({ width: 360, height: 800 });
  await page.waitForFunction(() => {
    const { top = 0, bottom = 0 } = document.querySelector('.scroll.virtual')?.getBoundingClientRect() ?? {};
    const row = document.elementFromPoint(180, (top + bottom) / 2)?.closest('tr');
    return row instanceof HTMLElement && row.querySelector('time') !== null && row.getBoundingClientRect().height > 60;
  });
  await page.context().close();
});

it('the console log shows a boot as plain text, and saves it', async () => {
  const opened = await openTab('olga', 'console-log');
  const { page } = opened;
  await page.getByText('node-1 login:').waitFor();
  await page.getByRole('searchbox').fill('LOGIN');
  await page.getByText(/^1 of \d+ lines$/).waitFor();
  expect(await download(page)).toContain('Booting from hard disk');
  await takePictures(page, 'console-log');
  await close(opened);
});

it('the telemetry draws the values of the machine, and shows them as a table', async () => {
  const opened = await openTab('admin', 'telemetry');
  const { page } = opened;
  await page.getByRole('combobox', { name: 'Interval of the measurements' }).selectOption('Measured every 5 seconds');
  await page
    .getByRole('figure', { name: 'Processors' })
    .getByText(/In use [\d.]+ %/)
    .waitFor();
  await page.locator('path.series-2').first().waitFor({ state: 'attached' });
  await page.getByRole('figure', { name: 'Network' }).getByText('Show as a table').click();
  await page.getByRole('figure', { name: 'Network' }).getByRole('cell', { name: /B\/s/ }).first().waitFor();
  await takePictures(page, 'telemetry');
  await close(opened);
});

it('the tab JSON follows links, and shows hostile texts as text', async () => {
  await bmc.ask('PATCH', machine, { AssetTag: HOSTILE });
  const opened = await openTab('rick', 'json');
  const { page } = opened;
  await page.getByText(HOSTILE).waitFor();
  await page.getByRole('button', { name: `${machine}/Bios` }).click();
  await page.getByText('#Bios.v1').waitFor();
  await page.getByRole('button', { name: 'Back' }).click();
  await page.getByText('#ComputerSystem.v1').waitFor();
  await takePictures(page, 'json');
  await close(opened);
});

it('the tab JSON does not show a late answer for a resource that the user has left', async () => {
  const opened = await openTab('rick', 'json');
  const { page } = opened;
  await page.getByText('#ComputerSystem.v1').waitFor();
  await page.getByText('Live').waitFor();
  let hold: (route: Route) => void = () => undefined;
  const held = new Promise<Route>((resolve) => (hold = resolve));
  await page.route(`**${machine}`, (route) => hold(route), { times: 1 });
  await bmc.ask('PATCH', machine, { AssetTag: 'late' });
  const late = await held;
  await page.getByRole('button', { name: `${machine}/Bios` }).click();
  await page.getByText('#Bios.v1').waitFor();
  const answered = page.waitForResponse(`${bmc.address}${machine}`);
  await late.continue();
  await (await answered).finished();
  await page.evaluate('new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))');
  expect(await page.getByText('#ComputerSystem.v1').count()).toBe(0);
  expect(await page.getByText('#Bios.v1').count()).toBe(1);
  await close(opened);
});

it('the role ReadOnly gets no tab for the console log, and no button that clears events', async () => {
  const opened = await openTab('rick', 'events');
  const { page } = opened;
  await page.getByRole('group', { name: 'Event log' }).waitFor();
  expect(await page.getByRole('button', { name: 'Clear the log' }).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Console log' }).count()).toBe(0);
  await close(opened);
});
