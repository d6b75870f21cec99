/** The administration pages in Chromium. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { logIn, startBmc, type Bmc, type User } from './harness/bmc.js';
import { accessibilityFaults, browserFixture, takePictures, type OpenedPage } from './harness/browser.js';
import { dialogFaults } from './harness/dialog.js';

const HOSTILE = '<img src=x onerror=alert(1)>';
const PAGES = ['Tasks', 'Hosts', 'Accounts', 'Sessions', 'Subscriptions'];

const { open } = browserFixture();
let bmc: Bmc;
beforeAll(async () => {
  bmc = await startBmc({ users: true });
});
afterAll(() => bmc.stop());

const openPage = async (user: User, path: string): Promise<OpenedPage> => {
  const opened = await open(`${bmc.address}/ui/${path}`);
  await logIn(opened.page, user);
  return opened;
};
const row = (page: Page, name: string | RegExp) => page.getByRole('row', { name });
const inDialog = (page: Page, button: string) => page.getByRole('dialog').getByRole('button', { name: button });

/** Waits for a text with the given part. */
async function arrives(texts: readonly string[], part: string): Promise<void> {
  while (!texts.some((text) => text.includes(part))) await new Promise((resolve) => setTimeout(resolve, 50));
}

describe('the accounts', () => {
  it('are created, changed and deleted, and faults appear in the dialog, which keeps the input', async () => {
    const { page, faults } = await openPage('admin', 'accounts');
    await page.getByRole('button', { name: 'New account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('User name').fill('nina');
    await dialog.getByLabel('Password *', { exact: true }).fill('short');
    await dialog.getByLabel('Password, again').fill('other');
    await inDialog(page, 'Save').click();
    await dialog.getByText('The two passwords are different.').waitFor();
    await dialog.getByLabel('Password, again').fill('short');
    await inDialog(page, 'Save').click();
    await dialog.getByText('The password is too short or too long').waitFor();
    expect(await dialog.getByLabel('User name').inputValue()).toBe('nina');
    await dialog.getByLabel('Password *', { exact: true }).fill('Long-enough-1');
    await dialog.getByLabel('Password, again').fill('Long-enough-1');
    await dialog.getByLabel('must choose a new password').uncheck();
    await inDialog(page, 'Save').click();
    await row(page, /^nina ReadOnly Enabled/).waitFor();

    await page.getByRole('button', { name: 'Edit the account nina' }).click();
    await dialog.getByLabel('Role').selectOption('Operator');
    await dialog.getByLabel('May log in').uncheck();
    await inDialog(page, 'Save').click();
    await row(page, /^nina Operator Disabled/).waitFor();
    await page.getByRole('button', { name: 'Delete the account nina' }).click();
    await dialog.getByText('All sessions of nina').waitFor();
    await inDialog(page, 'Delete').click();
    await row(page, /^nina/).waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('let a user who may not manage accounts change only the password of this user', async () => {
    const { page } = await openPage('rick', 'accounts');
    await page.getByRole('button', { name: 'Edit the account rick' }).waitFor();
    expect(await page.getByRole('button', { name: /account/i }).count()).toBe(1);
    await page.getByRole('button', { name: 'Edit the account rick' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('Role').count()).toBe(0);
    await dialog.getByLabel('New password').fill('Reads-even-more-2');
    await dialog.getByLabel('Password, again').fill('Reads-even-more-2');
    await inDialog(page, 'Save').click();
    await page.getByText('The account rick was saved.').waitFor();
    const basic = `Basic ${btoa('rick:Reads-even-more-2')}`;
    const { status } = await fetch(`${bmc.address}/redfish/v1/Systems`, { headers: { Authorization: basic } });
    expect(status).toBe(200);
    await bmc.ask('PATCH', '/redfish/v1/AccountService/Accounts/rick', { Password: 'Reads-a-lot-1' });
    await page.context().close();
  });
});

describe('the sessions', () => {
  it('are listed, and an administrator can end those of others', async () => {
    const other = await openPage('olga', 'sessions');
    const { page } = await openPage('admin', 'sessions');
    await page.getByText('this console').waitFor();
    await row(page, /^olga/).getByRole('button').click();
    await page.getByText('The login of olga').waitFor();
    await inDialog(page, 'End').click();
    await row(page, /^olga/).waitFor({ state: 'detached' });
    await other.page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await other.page.context().close();
    await page.context().close();
  });
});

describe('the subscriptions', () => {
  it('are created, get a test event, and are suspended, resumed and deleted', async () => {
    const received: string[] = [];
    const server = createServer((request, response) => {
      request.setEncoding('utf8');
      let text = '';
      request.on('data', (chunk: string) => (text += chunk));
      request.on('end', () => {
        received.push(text);
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo; // the server listens on TCP
    const { page, faults } = await openPage('admin', 'subscriptions');
    await page.getByRole('button', { name: 'New subscription' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Destination URL').fill(`http://127.0.0.1:${port}/events`);
    await dialog.getByLabel('Context').fill(HOSTILE);
    await inDialog(page, 'Subscribe').click();
    await row(page, `http://127.0.0.1:${port}/events`).getByText(HOSTILE).waitFor();
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByText('The test event was sent').waitFor();
    await arrives(received, 'A test event of the console');
    await page.getByRole('button', { name: /^Suspend the subscription/ }).click();
    await row(page, /Suspended/).waitFor();
    await page.getByRole('button', { name: /^Resume the subscription/ }).click();
    await page.getByRole('button', { name: /^Suspend the subscription/ }).waitFor();
    await page.getByRole('button', { name: /^Delete the subscription of http/ }).click();
    await inDialog(page, 'Delete').click();
    await page.getByRole('button', { name: /^Delete the subscription of http/ }).waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
    server.close();
    server.closeAllConnections();
    await page.context().close();
  });
});

describe('the certificates', () => {
  it('show how long they are valid, and can be replaced by the signed certificate of a signing request', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rackless-certificates-'));
    const file = (name: string): string => join(folder, name);
    const openssl = (...words: readonly string[]) => execFileSync('openssl', words, { stdio: 'pipe' });
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    openssl('req', '-x509', ...key, '-keyout', file('ca.key'), '-out', file('ca.pem'), '-subj', '/CN=Lab CA');
    openssl('req', '-x509', ...key, '-keyout', file('key'), '-out', file('pem'), '-days', '9', '-subj', '/CN=old');
    const secure = await startBmc({ args: ['--fake', '--ssl-certificate', file('pem'), '--ssl-key', file('key')] });
    const { page, faults } = await open(`${secure.address}/ui/certificates`);
    await page.getByText('Expires in 8 days').waitFor();
    await page.getByRole('button', { name: 'New signing request' }).click();
    expect(await dialogFaults(page, 'dialog-signing-request')).toEqual([]);
    await page.getByLabel('Common name').fill('bmc.example');
    await page.getByLabel('Alternative names').fill('127.0.0.1, bmc.example');
    await inDialog(page, 'Generate').click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as a file' }).click();
    const request = await (await downloading).path();
    openssl(
      'x509',
      '-req',
      '-in',
      request,
      '-CA',
      file('ca.pem'),
      '-CAkey',
      file('ca.key'),
      '-out',
      file('new.pem'),
      '-days',
      '99',
      '-copy_extensions',
      'copy',
    );
    expect(await dialogFaults(page, 'dialog-signed-request')).toEqual([]);
    await inDialog(page, 'Copy').click();
    const message = page.locator('.toast').filter({ hasText: 'Copied.' });
    await message.waitFor();
    const place = await message.boundingBox();
    // The clock moves by a second, so the user has seen the message. A seen message stays in its place.
    await page.evaluate(() => {
      const now = performance.now.bind(performance);
      performance.now = () => now() + 1000;
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await message.boundingBox()).toEqual(place);
    await page.getByRole('button', { name: 'Replace' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Certificate in PEM').fill('no certificate');
    await inDialog(page, 'Replace').click();
    await dialog.getByRole('alert').waitFor();
    expect(await dialogFaults(page, 'dialog-certificate')).toEqual([]);
    await dialog.getByLabel('Certificate in PEM').fill(readFileSync(file('new.pem'), 'utf8'));
    await inDialog(page, 'Replace').click();
    await page.getByText('Lab CA').waitFor();
    await page.getByText('Valid for 98 more days').waitFor();
    await takePictures(page, 'certificates');
    // The page uses the clock of the service, not that of the browser.
    await page.clock.setFixedTime(Date.now() + 3 * 86_400_000);
    await page.reload();
    await page.getByText('Valid for 98 more days').waitFor();
    expect([await accessibilityFaults(page), faults]).toEqual([[], []]);
    await page.context().close();
    await secure.stop();
    rmSync(folder, { recursive: true });
  });
});

describe('the settings', () => {
  it('are changed, and a wrong value causes an error in the dialog', async () => {
    const { page, faults } = await openPage('admin', 'settings');
    const part = page.getByRole('region', { name: 'Sessions' });
    await part.getByText('1800').waitFor();
    await part.getByRole('button', { name: 'Edit' }).click();
    const field = page.getByRole('dialog').getByLabel('An unused session ends after');
    await field.fill('1');
    await inDialog(page, 'Save').click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await field.fill('900');
    await inDialog(page, 'Save').click();
    await part.getByText('900').waitFor();
    await takePictures(page, 'settings');
    expect([await accessibilityFaults(page), faults]).toEqual([[], []]);
    await page.context().close();
  });
});

describe('the configuration', () => {
  it('shows the value, default and source of settings, also of hostile and long ones, and after a reload', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rackless-configuration-'));
    const file = join(folder, 'bmc.conf');
    const files = Array.from({ length: 10_000 }, (_, index) => `'x-${index}': '/${HOSTILE}'`).join(', ');
    writeFileSync(
      file,
      [
        'EMULATOR_FAKE_DRIVER = True',
        'EMULATOR_TASK_AFTER_SECONDS = 2',
        `EMULATOR_OS_IPXE_IMAGE = '${HOSTILE}'`,
        "EMULATOR_EXTERNAL_NOTIFICATION_URL = 'https://hush-1@h.example/?token=hush-2'",
        `EMULATOR_BOOT_LOADER_MAP = {'UEFI': {${files}}}`,
        '',
      ].join('\n'),
    );
    const served = await startBmc({ args: ['--config', file] });
    const { page, faults } = await open(`${served.address}/ui/configuration`);
    await page.getByText(/^\d+ settings$/).waitFor();
    await row(page, 'EMULATOR_TASK_AFTER_SECONDS')
      .getByRole('cell', { name: `${file}:2`, exact: true })
      .waitFor();
    expect(await row(page, 'EMULATOR_TASK_AFTER_SECONDS').getByRole('cell').allInnerTexts()).toEqual([
      ...['2', '8', `${file}:2`, 'a reload'],
    ]);
    await row(page, 'EMULATOR_OS_IPXE_IMAGE').getByText(HOSTILE, { exact: true }).waitFor();
    expect(await page.content()).not.toContain('hush');

    const long = row(page, 'EMULATOR_BOOT_LOADER_MAP');
    await long.getByRole('group').locator('summary').first().click();
    await long.getByText('more characters. The button copies the whole value.').waitFor();
    expect((await long.getByRole('textbox').inputValue()).length).toBe(10_000);
    await takePictures(page, 'configuration-long');
    expect(await accessibilityFaults(page)).toEqual([]);
    await long.locator('summary').first().click();

    await page.getByLabel('Search settings').fill('task seconds');
    await page.getByText(/^1 of \d+ settings$/).waitFor();
    await page.getByLabel('Search settings').fill('');
    await page.getByLabel('Only settings that are not the default').check();
    await row(page, 'EMULATOR_FAKE_DRIVER').waitFor();
    expect(await row(page, 'EMULATOR_SSDP').count()).toBe(0);
    await takePictures(page, 'configuration');

    // The source changes while the page is open.
    writeFileSync(file, 'EMULATOR_FAKE_DRIVER = True\n\n\nEMULATOR_TASK_AFTER_SECONDS = 3\n');
    const { Members } = (await (await served.ask('GET', '/redfish/v1/Managers')).json()) as {
      readonly Members: readonly { readonly '@odata.id': string }[]; // a collection
    };
    await served.ask('POST', `${Members[0]?.['@odata.id'] ?? ''}/Actions/Manager.Reset`, {});
    const found = row(page, 'EMULATOR_TASK_AFTER_SECONDS');
    while ((await found.getByRole('cell', { name: `${file}:4`, exact: true }).count()) === 0) {
      await page.getByRole('button', { name: 'Read again' }).click();
    }
    expect(faults).toEqual([]);
    await page.context().close();
    await served.stop();
    rmSync(folder, { recursive: true });
  });

  it('is neither offered nor readable without the privilege ConfigureManager', async () => {
    const { page } = await openPage('rick', 'configuration');
    await page.getByText('privilege').waitFor();
    const menu = page.getByRole('navigation', { name: 'Pages' });
    await menu.getByRole('link', { name: 'Accounts' }).waitFor();
    expect(await menu.getByRole('link', { name: 'Configuration' }).count()).toBe(0);
    expect(await page.content()).not.toContain('EMULATOR_LISTEN');
    await page.context().close();
  });
});

describe('each page of a collection', () => {
  it.each(['admin', 'rick'] as const)('is accessible for %s in both themes, and fits on a phone', async (user) => {
    const { page, faults } = await openPage(user, '');
    for (const name of PAGES) {
      const menu = page.getByRole('navigation', { name: 'Pages' });
      await menu.getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
      if (user === 'admin') await takePictures(page, name.toLowerCase());
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect([name, await accessibilityFaults(page)]).toEqual([name, []]);
      }
      await page.setViewportSize({ width: 375, height: 800 });
      expect([name, await page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([name, 375]);
      await page.setViewportSize({ width: 1440, height: 900 });
    }
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
