/**
 * Every page, every tab of a machine and the dialogs, at three widths in both themes: axe finds no fault, and nothing
 * is wider than the window. The first tests compare the lists with the sources, so a new page cannot be forgotten.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { logIn, startBmc, USERS, type Bmc } from './harness/bmc.js';
import { accessibilityFaults, browserFixture, painted, takePictures } from './harness/browser.js';
import { tabOrderFaults } from './harness/tab-order.js';

/** Paths of the pages below `/ui/`, by their pattern in `pages.ts`. Those of a machine are in `TABS`. */
const PAGES: Readonly<Record<string, string>> = {
  '': '',
  tasks: 'tasks',
  hosts: 'hosts',
  accounts: 'accounts',
  sessions: 'sessions',
  subscriptions: 'subscriptions',
  certificates: 'certificates',
  settings: 'settings',
  configuration: 'configuration',
  'systems/:id/*': 'systems/node-1',
};

/** The tabs of a machine, as in `tabs.ts`. */
const TABS = [
  ...['', 'boot', 'firmware', 'storage', 'network', 'media', 'screen', 'serial', 'telemetry', 'events'],
  ...['console-log', 'json'],
];

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first();

/** A dialog that this test opens: the page, and how. */
interface OpenedDialog {
  readonly path: string;
  readonly open: (page: Page) => Promise<void>;
}

/** The dialogs by the file that shows them, below `src/bmc`. */
const DIALOGS: Readonly<Record<string, OpenedDialog>> = {
  'pages/accounts/account-dialog.tsx': { path: 'accounts', open: (page) => button(page, 'New account').click() },
  'pages/accounts/index.tsx': { path: 'accounts', open: (page) => button(page, 'Delete the account rick').click() },
  'pages/sessions/index.tsx': {
    path: 'sessions',
    open: (page) => page.getByRole('row', { name: /^olga/ }).getByRole('button').click(),
  },
  'pages/subscriptions/subscription-dialog.tsx': {
    path: 'subscriptions',
    open: (page) => button(page, 'New subscription').click(),
  },
  'pages/subscriptions/index.tsx': {
    path: 'subscriptions',
    open: (page) => button(page, /^Delete the subscription/).click(),
  },
  'pages/settings/index.tsx': { path: 'settings', open: (page) => button(page, /^Edit/).click() },
  'pages/machines/bulk/bulk-dialog.tsx': {
    path: '',
    open: async (page) => {
      await page.getByRole('checkbox', { name: 'Select node-2', exact: true }).check();
      await page.getByRole('region', { name: 'Actions' }).getByRole('button', { name: 'Force off' }).click();
    },
  },
  'pages/machine/power-actions.tsx': {
    path: 'systems/node-1',
    open: async (page) => {
      await page.getByText('More actions').click();
      await button(page, 'Force off').click();
    },
  },
  'pages/machine/events/index.tsx': {
    path: 'systems/node-1/events',
    open: (page) => button(page, 'Clear the log').click(),
  },
};

/** Dialogs that other tests open: the file of the test. */
const OPENED_ELSEWHERE: Readonly<Record<string, string>> = {
  'login-dialog.tsx': 'session.test.ts',
  'pages/certificates/request-dialog.tsx': 'administration.test.ts',
  'pages/machine/firmware/bios-form.tsx': 'machine.test.ts',
  'pages/machine/firmware/secure-boot.tsx': 'machine.test.ts',
  'pages/machine/media/drive-card.tsx': 'media.test.ts',
  'pages/machine/media/upload-view.tsx': 'media.test.ts',
  'pages/machine/screen/paste-dialog.tsx': 'screen.test.ts',
  'pages/machine/storage/index.tsx': 'machine.test.ts',
  'pages/machine/storage/volume-dialog.tsx': 'machine.test.ts',
  'pages/machines/bulk/job-dialog.tsx': 'machines.test.ts',
  'pages/tasks/index.tsx': 'media.test.ts',
};

const SOURCES = join(import.meta.dirname, '../src/bmc');
/** Widths of a desktop, a tablet and a phone. */
const WIDTHS = [1440, 900, 375];
/** The rules whose result depends on the colors, so only these run again in the dark theme. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

const { open } = browserFixture();
let bmc: Bmc;
let page: Page;
let faults: readonly string[];
/** The UUID of node-1. */
let machine: string;
beforeAll(async () => {
  bmc = await startBmc({ users: true });
  await bmc.ask('POST', '/redfish/v1/SessionService/Sessions', { UserName: 'olga', Password: USERS.olga });
  const Destination = 'http://192.0.2.1/events';
  await bmc.ask('POST', '/redfish/v1/EventService/Subscriptions', { Destination, Protocol: 'Redfish', Context: 'x' });
  const { Members } = (await (
    await bmc.ask('GET', "/redfish/v1/Systems?$filter=Name eq 'node-1'&$expand=.")
  ).json()) as {
    readonly Members: readonly { readonly Id: string }[]; // a collection
  };
  machine = Members[0]?.Id ?? '';
  // The machine has power actions that lose something, and an event in its log.
  for (const ResetType of ['ForceOff', 'On']) {
    await bmc.ask('POST', `/redfish/v1/Systems/${machine}/Actions/ComputerSystem.Reset`, { ResetType });
  }
  ({ page, faults } = await open(`${bmc.address}/ui/`));
  await logIn(page, 'admin');
  await page.getByText('Live').waitFor();
});
afterAll(() => bmc.stop());

/** Opens a path without loading the console again. */
async function openPath(path: string): Promise<void> {
  const shown = path.replace('node-1', machine);
  await page.evaluate((address) => {
    history.pushState(null, '', address);
    dispatchEvent(new PopStateEvent('popstate'));
  }, `/ui/${shown}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
  await page.locator('.spinner').first().waitFor({ state: 'detached' });
}

/** Checks the page of the window at all widths in both themes. */
async function check(picture: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    expect([width, await page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([width, width]);
    expect([width, await accessibilityFaults(page)]).toEqual([width, []]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect([width, 'dark', await accessibilityFaults(page, COLOR_RULES)]).toEqual([width, 'dark', []]);
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await takePictures(page, picture);
  expect(faults).toEqual([]);
}

describe('the lists of this test', () => {
  const values = (file: string, name: string): readonly string[] =>
    Array.from(
      readFileSync(join(SOURCES, file), 'utf8').matchAll(new RegExp(`\\b${name}: '([^']*)'`, 'g')),
      ([, value = '']) => value,
    );

  it('have all pages and all tabs', () => {
    expect(values('pages.ts', 'pattern')).toEqual(Object.keys(PAGES));
    expect(values('pages/machine/tabs.ts', 'path')).toEqual(TABS);
  });

  it('have all files that show a dialog', () => {
    const shown = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.tsx') && file !== 'form-dialog.tsx')
      .filter((file) => /<(?:Form|Confirm)?Dialog\b/.test(readFileSync(join(SOURCES, file), 'utf8')));
    expect(shown.sort()).toEqual([...Object.keys(DIALOGS), ...Object.keys(OPENED_ELSEWHERE)].sort());
    for (const test of new Set(Object.values(OPENED_ELSEWHERE))) {
      expect(readFileSync(join(import.meta.dirname, test), 'utf8')).toMatch(/dialog/i);
    }
  });
});

const paths = [...Object.values(PAGES), ...TABS.filter((tab) => tab !== '').map((tab) => `systems/node-1/${tab}`)];

describe('at three widths in both themes', () => {
  it.each(paths)('is accessible: the page %p', async (path) => {
    await openPath(path);
    await check(path === '' ? 'machines' : path.replaceAll('/', '-'));
  });

  it.each(Object.entries(DIALOGS))('is accessible: the dialog of %s', async (file, { path, open: openDialog }) => {
    await openPath(path);
    await openDialog(page);
    await page.getByRole('dialog').waitFor();
    await check(`dialog-${file.replaceAll(/\W+/g, '-')}`);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});

describe('on a phone', () => {
  it('wraps a destination of events at its parts, and not inside a port', async () => {
    await openPath('subscriptions');
    await page.setViewportSize({ width: 375, height: 900 });
    await painted(page);
    const lines = await page.locator('tbody th').evaluateAll((cells) =>
      cells.flatMap((cell) => {
        const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        const counts: (readonly [string, number])[] = [];
        for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
          const range = document.createRange();
          for (const { index, 0: part } of (text.textContent ?? '').matchAll(/:\d+|\d+(?:\.\d+){3}/g)) {
            range.setStart(text, index);
            range.setEnd(text, index + part.length);
            counts.push([part, range.getClientRects().length]);
          }
        }
        return counts;
      }),
    );
    await page.setViewportSize({ width: 1440, height: 900 });
    expect(lines.map(([part]) => part)).toEqual(expect.arrayContaining(['192.0.2.1', expect.stringMatching(/^:\d+$/)]));
    expect(lines.filter(([, count]) => count !== 1)).toEqual([]);
  });
});

describe('with the Tab key', () => {
  it.each([1440, 375])('reaches the menu, the bar and the page at a width of %i', async (width) => {
    await openPath('');
    await page.setViewportSize({ width, height: 900 });
    await painted(page);
    expect(await tabOrderFaults(page)).toEqual([]);
  });

  it.each(paths)('reaches all controls in their visible order: the page %p', async (path) => {
    await openPath(path);
    for (const width of [1440, 375]) {
      await page.setViewportSize({ width, height: 900 });
      await painted(page);
      expect([width, await tabOrderFaults(page, 'main')]).toEqual([width, []]);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
  });
});
