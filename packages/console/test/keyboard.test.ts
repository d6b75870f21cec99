/** The console of bmc-daemon without a mouse: where the focus goes, and the keys of menus and tables. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { machineRow as row, startBmc, type Bmc } from './harness/bmc.js';
import { browserFixture, painted, type OpenedPage } from './harness/browser.js';
import { tabOrderFaults } from './harness/tab-order.js';

const { open } = browserFixture();
let folder: string;
let bmc: Bmc;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-console-keyboard-'));
  const file = join(folder, 'lab.yaml');
  writeFileSync(file, 'machines:\n- {name: "node-{n}", count: 2000, overrides: {node-1: {power_state: "On"}}}\n');
  bmc = await startBmc({ args: ['--fake', '--fake-machines', file] });
});
afterAll(async () => {
  await bmc.stop();
  rmSync(folder, { recursive: true });
});

const openList = async (options?: Parameters<typeof open>[1]): Promise<OpenedPage> => {
  const opened = await open(`${bmc.address}/ui/?sort=name`, options);
  await opened.page.getByText('2,000 machines').waitFor();
  return opened;
};
/** Returns a short description of the control with the focus. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const element = document.activeElement;
    const name = element?.getAttribute('aria-label') ?? element?.getAttribute('title') ?? element?.textContent;
    return element === document.body ? 'nothing' : element?.localName === 'main' ? 'the content' : (name ?? '').trim();
  });
const untilFocused = (page: Page, name: string): Promise<unknown> =>
  page.waitForFunction((wanted) => {
    const element = document.activeElement;
    return [element?.getAttribute('aria-label'), element?.getAttribute('title'), element?.textContent.trim()].includes(
      wanted,
    );
  }, name);
const press = async (page: Page, ...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await page.keyboard.press(key);
};
const select = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true });

describe('the list of 2,000 machines', () => {
  it('has at most 400 stops for the Tab key, in their visible order, also with a selected machine', async () => {
    for (const width of [1440, 375]) {
      const { page, faults } = await openList({ viewport: { width, height: 900 } });
      await select(page, 'node-2').check();
      await page.getByRole('region', { name: 'Actions for the selected machines' }).waitFor();
      expect([width, await tabOrderFaults(page)]).toEqual([width, []]);
      await select(page, 'node-2').focus();
      await press(page, 'Tab', 'Tab');
      expect(await focused(page)).toBe('Clear the selection');
      expect(faults).toEqual([]);
      await page.context().close();
    }
  });

  it('moves the focus from row to row with the arrow keys, PageDown, PageUp, Home and End', async () => {
    const { page, faults } = await openList();
    await row(page, 'node-1').getByRole('link').focus();
    await press(page, 'ArrowDown', 'ArrowDown', 'ArrowUp');
    expect(await focused(page)).toBe('node-2');
    await press(page, 'End');
    await untilFocused(page, 'node-2000');
    await press(page, 'ArrowDown');
    expect(await focused(page)).toBe('node-2000');
    await press(page, 'Home');
    await untilFocused(page, 'node-1');
    for (let count = 0; count < 60; count += 1) await press(page, 'ArrowDown');
    await untilFocused(page, 'node-61');
    await press(page, 'PageDown', 'PageUp');
    await untilFocused(page, 'node-61');
    expect(await inWindow(page)).toBe(true);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('selects all rows that the focus passes with Shift', async () => {
    const { page } = await openList();
    await select(page, 'node-3').focus();
    await press(page, 'Space', 'Shift+ArrowDown', 'Shift+End');
    await untilFocused(page, 'Select node-2000');
    await page.getByText('1,998 selected').waitFor();
    await page.context().close();
  });

  it('keeps the focus of a row that scrolls out of the window', async () => {
    const { page, faults } = await openList();
    const region = page.getByRole('region', { name: 'Machines', exact: true });
    const scrollTo = async (top: number): Promise<void> => {
      await region.evaluate((element, to) => (element.scrollTop = to), top);
      await painted(page);
    };
    await scrollTo(10_000);
    const visible = await page.locator('tbody th a').nth(8).getAttribute('title');
    await page.getByRole('link', { name: visible ?? '', exact: true }).focus();
    // The row is then below the window, above it, in it, and above it again.
    for (const top of [0, 60_000, 10_000, 60_000]) {
      await scrollTo(top);
      expect([top, await focused(page)]).toEqual([top, visible]);
      expect(await region.evaluate(({ scrollTop }) => scrollTop)).toBe(top);
    }
    // The next key continues at this row.
    await press(page, 'ArrowDown');
    const next = `node-${Number(visible?.slice('node-'.length)) + 1}`;
    await untilFocused(page, next);
    expect(await inWindow(page)).toBe(true);
    // Tab leads back to a row that has left the window, and shows it.
    await scrollTo(60_000);
    await region.focus();
    while ((await focused(page)) !== next) await press(page, 'Tab');
    await painted(page);
    expect(await inWindow(page)).toBe(true);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('gives the focus to the next row when a machine changes and a filter hides its row', async () => {
    const { page } = await openList();
    await page.getByRole('combobox', { name: 'Filter by power' }).selectOption('Off');
    await page.getByText('1,999 of 2,000 machines').waitFor();
    await row(page, 'node-4').getByRole('link').focus();
    const id = (await row(page, 'node-4').getByRole('link').getAttribute('href'))?.split('/').at(-1) ?? '';
    await bmc.ask('POST', `/redfish/v1/Systems/${id}/Actions/ComputerSystem.Reset`, { ResetType: 'On' });
    await page.getByText('1,998 of 2,000 machines').waitFor();
    await untilFocused(page, 'node-5');
    await bmc.ask('POST', `/redfish/v1/Systems/${id}/Actions/ComputerSystem.Reset`, { ResetType: 'ForceOff' });
    await page.context().close();
  });
});

describe('the focus', () => {
  it('goes to the content when the focused link opens another page', async () => {
    const { page } = await openList();
    await row(page, 'node-2').getByRole('link').focus();
    await press(page, 'Enter');
    await page.getByRole('heading', { level: 1, name: 'node-2' }).waitFor();
    await page.waitForFunction(() => document.activeElement?.localName === 'main');
    await page.getByText('Serial number').waitFor();
    await press(page, 'Tab');
    expect(await focused(page)).toBe('Start');
    await page.context().close();
  });

  it('stays at a button while its action runs, and returns from a dialog to the menu that opened it', async () => {
    const { page } = await openList();
    await row(page, 'node-3').getByRole('link').click();
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/Actions/ComputerSystem.Reset', async (route) => {
      await held;
      await route.continue();
    });
    const field = page.getByLabel('Asset tag');
    await field.waitFor();
    await page.getByRole('button', { name: 'Start', exact: true }).focus();
    await press(page, 'Enter');
    await page.locator('button[aria-busy=true]').waitFor();
    expect(await focused(page)).toBe('Start');
    release?.();
    // The machine is on, so the button is gone.
    await page.getByRole('button', { name: 'Shut down' }).waitFor();
    await page.waitForFunction(() => document.activeElement !== document.body);

    await page.getByText('More actions').focus();
    await press(page, 'ArrowDown', 'End');
    const last = await focused(page);
    await press(page, 'Enter');
    await page.getByRole('dialog').waitFor();
    await press(page, 'Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect([last, await focused(page)]).toEqual(['Force off', 'More actions']);
    await page.context().close();
  });

  it('stays at a button that becomes disabled', async () => {
    const { page } = await openList();
    await row(page, 'node-3').getByRole('link').click();
    await page.getByLabel('Asset tag').fill('rack 7');
    await page.getByRole('button', { name: 'Save' }).press('Enter');
    const save = page.getByRole('button', { name: 'Save', disabled: true });
    await save.waitFor();
    // A disabled control has no focus, or an unusable one: browsers differ.
    expect([await focused(page), await save.isEnabled(), await save.getAttribute('disabled')]).toEqual([
      ...['Save', false, null],
    ]);
    await press(page, 'Enter', 'Tab');
    expect(await focused(page)).toBe('Discard');
    await page.context().close();
  });

  it('goes to the table when the row with the focus is deleted', async () => {
    const { page, faults } = await open(`${bmc.address}/ui/subscriptions`);
    const Destination = 'http://192.0.2.1/events';
    await bmc.ask('POST', '/redfish/v1/EventService/Subscriptions', { Destination, Protocol: 'Redfish' });
    await page.reload();
    await page.getByRole('button', { name: `Delete the subscription of ${Destination}` }).focus();
    await press(page, 'Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete' }).press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await untilFocused(page, 'Event subscriptions');
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('keeps a message open for 30 seconds while it is on "Dismiss", and goes to the content afterwards', async () => {
    const { page } = await open('about:blank');
    await page.clock.install();
    await page.goto(`${bmc.address}/ui/subscriptions`);
    const send = page.getByRole('button', { name: 'Send a test event' });
    await send.press('Enter');
    const dismiss = page.getByRole('button', { name: /^Dismiss/ });
    await dismiss.focus();
    await page.clock.runFor(30_000);
    expect(await dismiss.count()).toBe(1);
    await press(page, 'Enter');
    await dismiss.waitFor({ state: 'detached' });
    await page.waitForFunction(() => document.activeElement?.localName === 'main');
    await page.context().close();
  });
});

describe('a menu', () => {
  it('opens with an arrow key, moves the focus with the arrow keys, and returns the focus with Escape', async () => {
    const { page } = await openList();
    const menu = page.getByText('Columns', { exact: true });
    await menu.focus();
    await press(page, 'ArrowDown');
    const box = (name: string) => page.getByRole('checkbox', { name, exact: true });
    const isFocused = (name: string) => box(name).evaluate((element) => element === document.activeElement);
    expect(await isFocused('Health')).toBe(true);
    await press(page, 'ArrowUp');
    expect(await isFocused('Memory')).toBe(true);
    await press(page, 'ArrowDown', 'ArrowDown', 'Space');
    expect([await isFocused('Boot override'), await box('Boot override').isChecked()]).toEqual([true, false]);
    await press(page, 'Escape');
    expect([await focused(page), await box('Health').isVisible()]).toEqual(['Columns', false]);
    await page.context().close();
  });

  it('opens the list of pages in a narrow window with the focus inside, and closes with Escape, a choice or a click', async () => {
    const { page, faults } = await openList({ viewport: { width: 375, height: 700 } });
    const button = page.getByRole('button', { name: 'Menu', exact: true });
    const pages = page.getByRole('navigation', { name: 'Pages' });
    await button.press('Enter');
    await untilFocused(page, 'Machines');
    await press(page, 'Escape');
    await pages.waitFor({ state: 'hidden' });
    expect(await focused(page)).toBe('Menu');
    await press(page, 'Enter');
    await untilFocused(page, 'Machines');
    await press(page, 'Tab', 'Enter');
    await pages.waitFor({ state: 'hidden' });
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
    expect(await focused(page)).toBe('the content');
    // The menu also closes if the user chooses the current page, or clicks beside the menu.
    await button.click();
    await untilFocused(page, 'Tasks');
    await press(page, 'Enter');
    await pages.waitFor({ state: 'hidden' });
    for (const [x, y] of [
      [340, 600],
      [250, 5],
    ] as const) {
      await button.click();
      await pages.waitFor();
      await page.mouse.click(x, y);
      await pages.waitFor({ state: 'hidden' });
    }
    // The focus moves before the browser handles further input.
    const isInside = await page.evaluate(async () => {
      document.querySelector<HTMLElement>('.menu-button')?.click();
      await Promise.resolve();
      return document.activeElement?.closest('nav') !== null;
    });
    expect(isInside).toBe(true);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});

/** Returns whether the control with the focus is in the part of the table that the window shows. */
function inWindow(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const element = document.activeElement;
    const box = element?.getBoundingClientRect();
    const region = element?.closest('.scroll')?.getBoundingClientRect();
    return box !== undefined && region !== undefined && box.top >= region.top && box.bottom <= region.bottom;
  });
}
