/** The daemon is killed while a user fills in a form of the console in Chromium: the input stays, and a retry works. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { machineRow, startBmc, USERS, type Bmc } from './harness/bmc.js';
import { browserFixture } from './harness/browser.js';

const { open } = browserFixture();
let bmc: Bmc;
let images: Server;
beforeAll(async () => {
  images = createServer((_request, response) => response.end('an image')).listen(0, '127.0.0.1');
  await once(images, 'listening');
  bmc = await startBmc({ users: true });
});
afterAll(async () => {
  await bmc.stop();
  images.closeAllConnections();
  images.close();
});

/** A form of the console. */
interface Form {
  /** Opens the form, from the list of machines, and returns it. */
  readonly open: (page: Page) => Promise<Locator>;
  /** The text that the user types into fields, by label. */
  readonly input: () => Readonly<Record<string, string>>;
  /** The button that sends the form. */
  readonly button: string;
  /** Waits for the result of a success. */
  readonly done: (page: Page, form: Locator) => Promise<void>;
}

/** Opens a tab of node-1, and returns a card in it, or the dialog that a button of the tab opens. */
const inTab =
  (tab: string, name: string, kind: 'card' | 'dialog' = 'card'): Form['open'] =>
  async (page) => {
    await machineRow(page, 'node-1').getByRole('link').click();
    await page.getByRole('link', { name: tab, exact: true }).click();
    if (kind === 'card') return page.getByRole('region', { name });
    await page.getByRole('button', { name }).click();
    return page.getByRole('dialog', { name });
  };
/** Opens a page of the administration, and returns the dialog that its button opens. */
const inPage =
  (name: string, button: string): Form['open'] =>
  async (page) => {
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('button', { name: button }).click();
    return page.getByRole('dialog', { name: button });
  };
const hasRow =
  (name: string): Form['done'] =>
  async (page, form) => {
    await form.waitFor({ state: 'detached' });
    await page.getByRole('rowheader', { name }).waitFor();
  };

const forms: readonly (readonly [name: string, form: Form])[] = [
  [
    'a new volume',
    {
      open: inTab('Storage', 'Create a volume', 'dialog'),
      input: () => ({ 'Size in GiB': '1.5', 'Name (optional)': 'kept' }),
      button: 'Create a volume',
      done: hasRow('kept'),
    },
  ],
  [
    'an image of a server',
    {
      open: inTab('Media', 'Virtual CD'),
      input: () => ({
        'URL of the image': `http://127.0.0.1:${(images.address() as AddressInfo).port}/kept.iso`, // a TCP server
        'User name': 'reader',
        Password: 'Image-secret-1',
      }),
      button: 'Insert',
      done: (_page, form) => form.getByRole('button', { name: 'Eject' }).waitFor(),
    },
  ],
  [
    'a new account',
    {
      open: inPage('Accounts', 'New account'),
      input: () => ({ 'User name': 'kept', Password: 'Kept-words-1', 'Password, again': 'Kept-words-1' }),
      button: 'Save',
      done: hasRow('kept'),
    },
  ],
  [
    'a new subscription',
    {
      open: inPage('Subscriptions', 'New subscription'),
      input: () => ({ 'Destination URL': 'http://192.0.2.1/kept', Context: 'kept context' }),
      button: 'Subscribe',
      done: hasRow('http://192.0.2.1/kept'),
    },
  ],
  [
    'the firmware settings',
    {
      open: inTab('Firmware', 'Firmware settings'),
      input: () => ({ 'Memory Size': '1024' }),
      button: 'Save for the next start',
      done: (_page, form) =>
        form
          .locator('button[aria-busy=false][aria-disabled=true]')
          .filter({ hasText: 'Save for the next start' })
          .waitFor(),
    },
  ],
];

describe('a form whose daemon is killed', () => {
  it.each(forms)('keeps its input, reports the failure, and sends the input later: %s', async (_name, form) => {
    const { page, faults } = await open(`${bmc.address}/ui/`);
    const logInAs = async (dialog: Locator): Promise<void> => {
      await dialog.getByLabel('User').fill('admin');
      await dialog.getByLabel('Password').fill(USERS.admin);
      await dialog.getByRole('button', { name: 'Log in' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    await logInAs(page.getByRole('dialog', { name: 'Log in to' }));
    const part = await form.open(page);
    const input = Object.entries(form.input());
    // A required field has a star behind its label.
    const field = (label: string): Locator =>
      part.getByLabel(new RegExp(`^${label.replaceAll(/[()]/g, String.raw`\$&`)}\\s*\\*?$`));
    const values = async (): Promise<readonly string[]> =>
      Promise.all(input.map(([label]) => field(label).inputValue()));
    const typed = input.map(([, value]) => value);
    for (const [label, value] of input) await field(label).fill(value);

    await bmc.kill();
    await part.getByRole('button', { name: form.button, exact: true }).click();
    await part.getByRole('alert').getByText('The service does not answer').waitFor();
    expect(await values()).toEqual(typed);

    await bmc.restart();
    // The sessions have ended with the killed daemon, so the console asks for a login when its stream connects again.
    await logInAs(page.getByRole('dialog', { name: 'Your session has ended' }));
    expect(await values()).toEqual(typed);
    await part.getByRole('button', { name: form.button, exact: true }).click();
    await form.done(page, part);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
