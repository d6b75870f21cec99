/**
 * The pages, the tabs of a machine and the dialogs of the console of bmc-daemon, at three widths in both themes: axe
 * finds no fault, and nothing is wider than the window. The first tests compare the lists with the sources in
 * `src/bmc`, so a new page of this console cannot be forgotten.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { logIn, startBmc, USERS, type Bmc } from './harness/bmc.js';
import { accessibilityFaults, browserFixture, painted, takePictures, WIDTHS } from './harness/browser.js';
import { COLOR_RULES, dialogFaults } from './harness/dialog.js';
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
  /** The file that shows it, below `src/bmc`. */
  readonly file: string;
  /** The title, or a part of it. */
  readonly title: string;
  readonly path: string;
  readonly open: (page: Page) => Promise<unknown>;
}

const opens =
  (name: string | RegExp): OpenedDialog['open'] =>
  (page) =>
    button(page, name).click();
const dialogOf = (page: Page) => page.getByRole('dialog');

const select = async (page: Page, action: string, ...names: readonly string[]): Promise<void> => {
  for (const name of names) await page.getByRole('checkbox', { name: `Select ${name}`, exact: true }).check();
  await page.getByRole('region', { name: 'Actions' }).getByRole('button', { name: action }).click();
};
const chooseFile = async (page: Page): Promise<void> => {
  // The first part gets no answer, so the upload still runs when the test cancels it.
  await page.route('**/Uploads/*', (route) => (route.request().method() === 'PATCH' ? undefined : route.continue()));
  const card = page.getByRole('region', { name: 'Virtual CD' });
  await card.getByLabel('Image', { exact: true }).selectOption('From this computer');
  const file = { name: `${'a-long-name-'.repeat(8)}.iso`, mimeType: 'application/octet-stream' };
  await card.locator('input[type=file]').setInputFiles({ ...file, buffer: Buffer.alloc(1_048_576) });
  await card.getByRole('button', { name: 'Send and insert' }).click();
  await card.getByRole('button', { name: 'Cancel the upload' }).click();
};
/** A long reason, as the service sends it. */
const reason = `${'The machine did not do what the request asked for. '.repeat(3)}Try again.`;

const machinePath = 'systems/node-1';
const DIALOGS: readonly OpenedDialog[] = [
  { file: 'pages/accounts/account-dialog.tsx', title: 'New account', path: 'accounts', open: opens('New account') },
  { file: 'pages/accounts/account-dialog.tsx', title: 'olga', path: 'accounts', open: opens('Edit the account olga') },
  { file: 'pages/accounts/index.tsx', title: 'rick', path: 'accounts', open: opens('Delete the account rick') },
  {
    ...{ file: 'pages/sessions/index.tsx', title: 'olga', path: 'sessions' },
    open: (page) => page.getByRole('row', { name: /^olga/ }).getByRole('button').click(),
  },
  {
    ...{ file: 'pages/subscriptions/subscription-dialog.tsx', title: 'New subscription', path: 'subscriptions' },
    open: opens('New subscription'),
  },
  {
    ...{ file: 'pages/subscriptions/index.tsx', title: 'Delete', path: 'subscriptions' },
    open: opens(/^Delete the subscription/),
  },
  ...['Login', 'Sessions', 'Tasks', 'Events'].map((title) => ({
    ...{ file: 'pages/settings/index.tsx', title, path: 'settings' },
    open: (page: Page) => page.getByRole('region', { name: title }).getByRole('button').click(),
  })),
  ...['Force off', 'Boot override', 'Eject media'].map((action) => ({
    ...{ file: 'pages/machines/bulk/bulk-dialog.tsx', title: '', path: '' },
    open: (page: Page) => select(page, action, 'node-1', 'node-2'),
  })),
  {
    ...{ file: 'pages/machines/bulk/job-dialog.tsx', title: 'Force off', path: '' },
    open: async (page) => {
      await page.route('**/ComputerSystem.Reset', (route) =>
        route.fulfill({ status: 400, json: { error: { '@Message.ExtendedInfo': [{ Message: reason }] } } }),
      );
      await select(page, 'Force off', 'node-1', 'node-2');
      await dialogOf(page).getByRole('button', { name: 'Force off' }).click();
      await dialogOf(page).getByText('Finished').waitFor();
    },
  },
  {
    ...{ file: 'pages/machine/power-actions.tsx', title: 'node-1', path: machinePath },
    open: async (page) => {
      await page.getByText('More actions').click();
      await button(page, 'Force off').click();
    },
  },
  {
    ...{ file: 'pages/machine/events/index.tsx', title: 'node-1', path: `${machinePath}/events` },
    open: opens('Clear the log'),
  },
  {
    ...{ file: 'pages/machine/firmware/bios-form.tsx', title: 'node-1', path: `${machinePath}/firmware` },
    open: opens('Reset to defaults'),
  },
  ...['Turn on', 'Enroll the default keys', 'Delete all keys'].map((action) => ({
    ...{ file: 'pages/machine/firmware/secure-boot.tsx', title: 'node-1', path: `${machinePath}/firmware` },
    open: opens(action),
  })),
  {
    ...{ file: 'pages/machine/storage/volume-dialog.tsx', title: 'volume', path: `${machinePath}/storage` },
    open: opens('Create a volume'),
  },
  {
    ...{ file: 'pages/machine/storage/index.tsx', title: 'volume', path: `${machinePath}/storage` },
    open: async (page) => {
      await button(page, 'Create a volume').click();
      await dialogOf(page).getByRole('button', { name: 'Create' }).click();
      await dialogOf(page).waitFor({ state: 'detached' });
      await button(page, /^Delete/).click();
    },
  },
  {
    ...{ file: 'pages/machine/media/drive-card.tsx', title: 'Eject', path: machinePath },
    open: async (page) => {
      await page.route('**/VirtualMedia?*', async (route) => {
        const response = await route.fetch();
        // The answer is a collection.
        const { Members } = (await response.json()) as { readonly Members: readonly object[] };
        const eject = { '#VirtualMedia.EjectMedia': { target: '/redfish/v1/' } };
        const drive = { ...Members[0], Inserted: true, ImageName: 'image.iso', Actions: eject };
        await route.fulfill({ response, json: { Members: [drive] } });
      });
      await page.getByRole('link', { name: 'Media', exact: true }).click();
      await button(page, 'Eject').click();
    },
  },
  {
    ...{ file: 'pages/machine/media/upload-view.tsx', title: 'Cancel the upload', path: 'systems/node-2/media' },
    open: chooseFile,
  },
  {
    ...{ file: 'pages/tasks/index.tsx', title: 'Insert', path: 'tasks' },
    open: async (page) => {
      await page.route('**/TaskService/Tasks?*', (route) =>
        route.fulfill({
          json: {
            Members: [
              {
                ...{ '@odata.id': '/redfish/v1/TaskService/Tasks/1', '@odata.type': '#Task.v1_7_0.Task' },
                ...{ Id: '1', Name: 'Virtual Media Insert', TaskState: 'Running', TaskStatus: 'OK' },
                ...{ StartTime: '2026-11-28T00:00:00Z', PercentComplete: 40 },
              },
            ],
          },
        }),
      );
      // An answer to an earlier request would remove the task again, so the page loads again.
      await page.reload();
      await button(page, /^Cancel/).click();
    },
  },
];

/** Dialogs that other tests open: the file of the test. */
const OPENED_ELSEWHERE: Readonly<Record<string, string>> = {
  'login-dialog.tsx': 'session.test.ts',
  'pages/certificates/request-dialog.tsx': 'administration.test.ts',
  'pages/machine/screen/paste-dialog.tsx': 'screen.test.ts',
};

const SOURCES = join(import.meta.dirname, '../src/bmc');

const { open } = browserFixture();
let bmc: Bmc;
let page: Page;
let faults: readonly string[];
/** The UUIDs of the machines by name. */
let machines: ReadonlyMap<string, string>;
beforeAll(async () => {
  bmc = await startBmc({ users: true });
  await bmc.ask('POST', '/redfish/v1/SessionService/Sessions', { UserName: 'olga', Password: USERS.olga });
  const Destination = 'http://192.0.2.1/events';
  await bmc.ask('POST', '/redfish/v1/EventService/Subscriptions', { Destination, Protocol: 'Redfish', Context: 'x' });
  const { Members } = (await (await bmc.ask('GET', '/redfish/v1/Systems?$expand=.')).json()) as {
    readonly Members: readonly { readonly Id: string; readonly Name: string }[]; // a collection
  };
  machines = new Map(Members.map(({ Id, Name }) => [Name, Id]));
  // Stops and starts the machine, so that it offers actions with a confirmation, and has events in its log.
  for (const ResetType of ['ForceOff', 'On']) {
    await bmc.ask('POST', `/redfish/v1/Systems/${machines.get('node-1') ?? ''}/Actions/ComputerSystem.Reset`, {
      ResetType,
    });
  }
  ({ page, faults } = await open(`${bmc.address}/ui/`));
  await logIn(page, 'admin');
  await page.getByText('Live').waitFor();
});
afterAll(() => bmc.stop());

/** Opens a path without loading the console again. */
async function openPath(path: string): Promise<void> {
  const shown = path.replace(/node-\d+/, (name) => machines.get(name) ?? name);
  await page.evaluate((address) => {
    history.pushState(null, '', address);
    dispatchEvent(new PopStateEvent('popstate'));
  }, `/ui/${shown}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
  await page.locator('.spinner').first().waitFor({ state: 'detached' });
}

/** Returns the parts of the page that need a horizontal scroll bar. Tables have their own. */
async function tooWide(): Promise<readonly string[]> {
  await painted(page);
  return page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll('main, .bar')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ localName, scrollWidth }) => `${localName}: ${scrollWidth}`),
  );
}

/**
 * Returns the tables that do not show all their rows. In a low window, only the page must scroll, except that virtual
 * tables have their own scroll bar.
 */
function hiddenRows(): Promise<readonly string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('.scroll:not(.virtual)')]
      .filter((region) => region.querySelector('table')?.clientHeight !== region.clientHeight)
      .map((region) => `${region.ariaLabel}: ${region.clientHeight}`),
  );
}

/** Checks what the window shows, at all widths in both themes. */
async function check(picture: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    expect([width, await tooWide()]).toEqual([width, []]);
    expect([width, await accessibilityFaults(page)]).toEqual([width, []]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect([width, 'dark', await accessibilityFaults(page, COLOR_RULES)]).toEqual([width, 'dark', []]);
    await page.emulateMedia({ colorScheme: 'light' });
  }
  // A window of 1280 pixels at a zoom of 400 %.
  await page.setViewportSize({ width: 320, height: 256 });
  expect([320, await tooWide(), await hiddenRows()]).toEqual([320, [], []]);
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
    const opened = new Set([...DIALOGS.map(({ file }) => file), ...Object.keys(OPENED_ELSEWHERE)]);
    expect(shown.sort()).toEqual([...opened].sort());
    for (const testFile of new Set(Object.values(OPENED_ELSEWHERE))) {
      expect(readFileSync(join(import.meta.dirname, testFile), 'utf8')).toContain('await dialogFaults(');
    }
  });
});

const paths = [...Object.values(PAGES), ...TABS.filter((tab) => tab !== '').map((tab) => `systems/node-1/${tab}`)];

describe('the console at three widths in both themes', () => {
  it.each(paths)('is accessible on the page %p', async (path) => {
    await openPath(path);
    await check(path === '' ? 'machines' : path.replaceAll('/', '-'));
  });

  it.each(DIALOGS.map((dialog, index) => ({ ...dialog, index })))(
    'is accessible in the dialog $index of $file with $title in its title',
    async ({ file, title, path, open: openDialog, index }) => {
      await openPath(path);
      await openDialog(page);
      const dialog = dialogOf(page).filter({ has: page.getByRole('heading', { level: 2, name: title }) });
      await dialog.waitFor();
      const found = await dialogFaults(page, `dialog-${index}-${file.replaceAll(/\W+/g, '-')}`);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      expect([found, faults]).toEqual([[], []]);
    },
  );
});

describe('the console on a phone', () => {
  it("breaks no line inside the IP address or the port of a subscription's destination", async () => {
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

describe('the Tab key', () => {
  it.each([1440, 375])('reaches the menu, the bar and the page at a width of %i', async (width) => {
    await openPath('');
    await page.setViewportSize({ width, height: 900 });
    await painted(page);
    expect(await tabOrderFaults(page)).toEqual([]);
  });

  it.each(paths)('reaches all controls in their visible order on the page %p', async (path) => {
    await openPath(path);
    for (const width of [1440, 375]) {
      await page.setViewportSize({ width, height: 900 });
      await painted(page);
      expect([width, await tabOrderFaults(page, 'main')]).toEqual([width, []]);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
  });
});
