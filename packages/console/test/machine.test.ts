/** The page of one machine in Chromium: power, boot, and forms that several clients change. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { Lab, type Guest } from '../../bmc-daemon/test/e2e/lab.js';
import { describeEndToEnd } from '../../bmc-daemon/test/e2e/prerequisites.js';
import { logIn, startBmc, USERS, type Bmc, type User } from './harness/bmc.js';
import { accessibilityFaults, browserFixture, takePictures } from './harness/browser.js';

const SESSIONS = '/redfish/v1/SessionService/Sessions';

/** The part of a ComputerSystem that the tests read. */
interface System {
  readonly '@odata.id': string;
  readonly Id: string;
  readonly Name: string;
  readonly AssetTag: string | null;
  readonly PowerState: string;
  readonly Boot: Readonly<Record<string, unknown>>;
}

const { open } = browserFixture();
let bmc: Bmc;
let ids: ReadonlyMap<string, string>;
beforeAll(async () => {
  bmc = await startBmc({ users: true });
  const answer = await bmc.ask('GET', '/redfish/v1/Systems?$expand=.($levels=1)');
  // The answer is a collection of systems.
  const { Members } = (await answer.json()) as { readonly Members: readonly System[] };
  ids = new Map(Members.map(({ Name, Id }) => [Name, Id]));
});
afterAll(() => bmc.stop());

const uriOf = (name: string): string => `/redfish/v1/Systems/${ids.get(name) ?? ''}`;
// `uriOf` returns the URI of a system.
const read = async (name: string): Promise<System> => (await bmc.ask('GET', uriOf(name))).json() as Promise<System>;
const change = async (name: string, body: object): Promise<void> => {
  expect((await bmc.ask('PATCH', uriOf(name), body)).status).toBe(200);
};
const reset = async (name: string, ResetType: string): Promise<void> => {
  const { ok } = await bmc.ask('POST', `${uriOf(name)}/Actions/ComputerSystem.Reset`, { ResetType });
  expect(ok).toBe(true);
};

/** Opens a tab of a machine as a user, and waits until events arrive. */
async function openTab(name: string, tab = '', user: User = 'olga'): Promise<Page> {
  const { page } = await open(`${bmc.address}/ui/systems/${ids.get(name) ?? ''}${tab}`);
  await logIn(page, user);
  await page.getByText('Live').waitFor();
  await page.getByRole('heading', { name }).waitFor();
  return page;
}

const header = (page: Page): Locator => page.locator('.page-header');
/** Waits until a form has saved its input: its button neither runs nor has anything to save. */
const saved = (form: Locator, button: string): Promise<void> =>
  form.locator('button[aria-busy=false][aria-disabled=true]').filter({ hasText: button }).waitFor();
const card = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });

describe('the page of a machine', () => {
  it('starts the machine, and asks for a confirmation before it forces the machine off', async () => {
    await reset('node-1', 'ForceOff');
    const page = await openTab('node-1');
    await header(page).getByRole('button', { name: 'Start', exact: true }).click();
    await header(page).getByText('On', { exact: true }).waitFor();
    expect((await read('node-1')).PowerState).toBe('On');
    expect(await header(page).getByRole('button', { name: 'Start', exact: true }).count()).toBe(0);

    await page.getByText('More actions').click();
    await header(page).getByRole('button', { name: 'Force off' }).click();
    const dialog = page.getByRole('dialog', { name: 'Force node-1 off?' });
    await dialog.getByText('Unsaved work of the guest').waitFor();
    await page.keyboard.press('Escape');
    expect((await read('node-1')).PowerState).toBe('On');
    await page.getByText('More actions').click();
    await header(page).getByRole('button', { name: 'Force off' }).click();
    await dialog.getByRole('button', { name: 'Force off' }).click();
    await header(page).getByText('Off', { exact: true }).waitFor();
    await page.context().close();
  });

  it('offers exactly the actions that the machine supports in its state', async () => {
    await reset('node-1', 'ForceOff');
    const page = await openTab('node-1');
    const labels = async (): Promise<readonly string[]> => {
      await page.getByText('More actions').click();
      const all = await header(page).getByRole('button').allInnerTexts();
      await page.keyboard.press('Escape');
      return all;
    };
    expect(await labels()).toMatchInlineSnapshot(`
      [
        "Start",
        "Start (forced)",
        "Press the power button",
      ]
    `);
    await reset('node-1', 'On');
    await header(page).getByText('On', { exact: true }).waitFor();
    expect(await labels()).toMatchInlineSnapshot(`
      [
        "Shut down",
        "Restart",
        "Press the power button",
        "Pause",
        "Suspend to disk",
        "Send an NMI",
        "Force restart",
        "Power cycle",
        "Force off",
      ]
    `);
    await page.context().close();
  });

  it('shows the curl command of an action, which works in a shell and contains no token', async () => {
    await reset('node-1', 'ForceOff');
    const page = await openTab('node-1');
    await header(page).getByRole('button', { name: 'Start', exact: true }).click();
    await header(page).getByText('On', { exact: true }).waitFor();
    const command = await card(page, 'Last action as a command').locator('pre').innerText();
    expect(command).toContain('"X-Auth-Token: $TOKEN"');
    await reset('node-1', 'ForceOff');
    const login = await bmc.ask('POST', SESSIONS, { UserName: 'olga', Password: USERS.olga });
    const env = { ...process.env, TOKEN: login.headers.get('X-Auth-Token') ?? '' };
    execFileSync('sh', ['-c', `${command} --silent --show-error --fail`], { env });
    expect((await read('node-1')).PowerState).toBe('On');
    await card(page, 'Last action as a command').getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    await page.context().close();
  });
});

describe('a role that may only read', () => {
  it.each([
    ['', 'Settings'],
    ['/boot', 'Boot order'],
    ['/firmware', 'Firmware settings'],
    ['/storage', 'VirtIO Storage'],
  ])('gets no button and no enabled field at "%s"', async (tab, part) => {
    const page = await openTab('node-1', tab, 'rick');
    await card(page, part).waitFor();
    expect(await page.locator('main').getByRole('button').count()).toBe(0);
    expect(await page.locator('main .input:not(:disabled)').count()).toBe(0);
    await page.context().close();
  });
});

describe('the boot override', () => {
  it('is set to an HTTP URI for one start, and is removed again', async () => {
    const images = createServer((_request, response) => response.end('an image')).listen(0, '127.0.0.1');
    await once(images, 'listening');
    const uri = `http://127.0.0.1:${(images.address() as AddressInfo).port}/boot.iso`; // the address of a TCP server
    const page = await openTab('node-2', '/boot');
    const form = card(page, 'Boot override');
    await form.getByLabel('Applies').selectOption('Once, at the next start');
    await form.getByLabel('Boot from').selectOption('Network (UEFI HTTP)');
    await form.getByLabel('URI for HTTP boot').fill('not a URI');
    await form.getByRole('button', { name: 'Set the override' }).click();
    await form.getByRole('alert').waitFor();
    expect(await form.getByLabel('URI for HTTP boot').inputValue()).toBe('not a URI');
    await form.getByLabel('URI for HTTP boot').fill(uri);
    await form.getByRole('button', { name: 'Set the override' }).click();
    await card(page, 'Boot order').getByText('The next start uses the boot override.').waitFor();
    expect((await read('node-2')).Boot).toMatchObject({
      BootSourceOverrideTarget: 'UefiHttp',
      BootSourceOverrideEnabled: 'Once',
      HttpBootUri: uri,
    });
    await form.getByLabel('Applies').selectOption('Off: use the boot order');
    await form.getByRole('button', { name: 'Set the override' }).click();
    await saved(form, 'Set the override');
    expect((await read('node-2')).Boot).toMatchObject({ BootSourceOverrideEnabled: 'Disabled' });
    images.close();
    await page.context().close();
  });
});

describe('the boot order', () => {
  it('is sorted with the mouse, and with the keyboard without a loss of the focus', async () => {
    const page = await openTab('node-1', '/boot');
    const form = card(page, 'Boot order');
    const first = (name: RegExp): Promise<void> => form.locator('ol li:first-child').getByText(name).waitFor();
    await form.getByRole('button', { name: /^Add CD/ }).click();
    const up = form.getByRole('button', { name: /^Move CD .* up$/ });
    await up.focus();
    await page.keyboard.press('Enter');
    await first(/^CD/);
    await form.getByText(/position 1 of 2/).waitFor();
    // The first row cannot move up, so the focus is at its other button, which moves it down.
    await page.keyboard.press('Enter');
    await first(/^Disk/);
    await page.keyboard.press('Alt+ArrowUp');
    await first(/^CD/);
    await form.locator('ol li').first().dragTo(form.locator('ol li').last());
    await first(/^Disk/);
    await up.click();
    await first(/^CD/);
    await form.getByRole('button', { name: 'Save the order' }).click();
    await saved(form, 'Save the order');
    expect((await read('node-1')).Boot).toMatchObject({ BootOrder: ['Cd.sda', 'Hdd.vda'] });
    await page.context().close();
  });
});

describe('firmware settings', () => {
  it('wait for the next start, show the current value until then, and can be reset to their defaults', async () => {
    await reset('node-2', 'On');
    const settingsUri = `${uriOf('node-2')}/Bios/Settings`;
    const attributes = async (): Promise<unknown> =>
      // Bios resources have Attributes.
      ((await (await bmc.ask('GET', settingsUri)).json()) as { readonly Attributes: unknown }).Attributes;
    const page = await openTab('node-2', '/firmware');
    const form = card(page, 'Firmware settings');
    const memory = form.getByLabel('Memory Size');
    const save = form.getByRole('button', { name: 'Save for the next start' });
    await memory.fill('1');
    await save.click();
    await form.getByRole('alert').waitFor();
    await memory.fill('1024');
    await form.getByLabel('Turbo Mode').selectOption('Disabled');
    await form.getByLabel('System Password').fill('Open-sesame-1');
    await save.click();
    await form.getByText('Now: 24576').waitFor();
    expect(await attributes()).toMatchObject({ MemorySizeMiB: 1024, ProcTurboMode: 'Disabled' });
    const command = await card(page, 'Last action as a command').locator('pre').innerText();
    expect(command).toContain('"$PASSWORD"');
    expect(command).not.toContain('Open-sesame-1');
    await form.getByRole('button', { name: 'Reset to defaults' }).click();
    const dialog = page.getByRole('dialog', { name: 'Reset the firmware settings of node-2?' });
    await dialog.getByText('All settings that differ from the defaults').waitFor();
    await takePictures(page, 'dialog-bios');
    await dialog.getByRole('button', { name: 'Reset to defaults' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await form.getByLabel('Turbo Mode').inputValue()).toBe('Enabled');
    expect(await attributes()).toMatchObject({ ProcTurboMode: 'Enabled' });
    await page.context().close();
  });

  it('include Secure Boot, and the question before a change names the lost variables', async () => {
    await reset('node-1', 'ForceOff');
    const page = await openTab('node-1', '/firmware');
    const form = card(page, 'Secure Boot');
    const confirm = async (button: string): Promise<void> => {
      await form.getByRole('button', { name: button }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Signed UEFI variables').waitFor();
      await takePictures(page, 'dialog-secure-boot');
      await dialog.getByRole('button', { name: button }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    const secureBoot = async (): Promise<unknown> => (await bmc.ask('GET', `${uriOf('node-1')}/SecureBoot`)).json();
    await confirm('Turn on');
    await form.getByRole('button', { name: 'Turn off' }).waitFor();
    expect(await secureBoot()).toMatchObject({ SecureBootEnable: true, SecureBootMode: 'UserMode' });
    await confirm('Delete all keys');
    await form.getByText('Setup: no keys are enrolled').waitFor();
    expect(await secureBoot()).toMatchObject({ SecureBootEnable: false, SecureBootMode: 'SetupMode' });
    await page.context().close();
  });
});

describe('the tab Storage', () => {
  it('creates a volume, and deletes it only after the user has typed its name', async () => {
    const page = await openTab('node-1', '/storage');
    await page.getByRole('button', { name: 'Create a volume' }).click();
    const form = page.getByRole('dialog', { name: 'Create a volume' });
    await form.getByLabel('Size in GiB').fill('9000000');
    await form.getByRole('button', { name: 'Create a volume' }).click();
    await form.getByRole('alert').waitFor();
    await form.getByLabel('Size in GiB').fill('1.5');
    await form.getByLabel('Name (optional)').fill('<i>scratch</i>');
    await form.getByRole('button', { name: 'Create a volume' }).click();
    const row = page.getByRole('row', { name: /^<i>scratch<\/i> vdb 1.5 GiB OK/ });
    await row.waitFor();
    await page.getByRole('row', { name: /Drive vdb/ }).waitFor();

    await row.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete <i>scratch</i>?' });
    await dialog.getByText('All data of the volume (1.5 GiB)').waitFor();
    const remove = dialog.getByRole('button', { name: 'Delete' });
    expect(await remove.isDisabled()).toBe(true);
    await takePictures(page, 'dialog-volume-delete');
    await dialog.getByLabel(/^Type/).fill('<i>scratch</i>');
    await remove.click();
    await row.waitFor({ state: 'detached' });
    expect((await bmc.ask('GET', `${uriOf('node-1')}/Storage/virtio/Volumes/vdb`)).status).toBe(404);
    await page.context().close();
  });
});

describe('the tab Network', () => {
  it('shows the lease of a started machine, and the addresses of its management controller', async () => {
    await reset('node-1', 'ForceOff');
    const page = await openTab('node-1', '/network');
    const table = card(page, 'Interfaces of the machine');
    await table.getByText('No address known').waitFor();
    await reset('node-1', 'On');
    await table.getByText('10.0.1.10/8').waitFor();
    await table.getByText('lease (DHCP)').waitFor();
    await table.getByText('node-1.example.org').waitFor();
    await card(page, 'Interfaces of the management controller').getByText('127.0.0.1/8').first().waitFor();
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await card(page, 'Network').getByText('10.0.1.10', { exact: true }).waitFor();
    await reset('node-1', 'ForceOff');
    await card(page, 'Network').getByText('No address known').first().waitFor();
    await page.context().close();
  });
});

describe('a changed form', () => {
  const settings = (page: Page) => card(page, 'Settings');
  const tag = (page: Page) => settings(page).getByLabel('Asset tag');
  const save = (page: Page) => settings(page).getByRole('button', { name: 'Save' });

  it("survives changes of other properties, and the end of the user's session", async () => {
    await reset('node-2', 'ForceOff');
    const page = await openTab('node-2');
    await tag(page).fill('rack 7');
    await reset('node-2', 'On');
    await header(page).getByText('On', { exact: true }).waitFor();
    expect(await tag(page).inputValue()).toBe('rack 7');
    const sessions = (await (await bmc.ask('GET', SESSIONS)).json()) as {
      readonly Members: readonly { readonly '@odata.id': string }[]; // a collection
    };
    for (const member of sessions.Members) await bmc.ask('DELETE', member['@odata.id']);
    // A read in the background may open the dialog before the click. The dialog would cover the button, so the test
    // does not use the mouse.
    await save(page).dispatchEvent('click');
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    expect(await tag(page).inputValue()).toBe('rack 7');
    await logIn(page, 'olga');
    // The request that failed was repeated.
    await saved(settings(page), 'Save');
    expect((await read('node-2')).AssetTag).toBe('rack 7');
    await page.context().close();
  });

  it('shows the values of another client beside the input', async () => {
    await change('node-3', { AssetTag: 'old' });
    const page = await openTab('node-3');
    await tag(page).fill('mine');
    await change('node-3', { AssetTag: 'theirs' });
    await settings(page).getByText('Asset tag: old → theirs.').waitFor();
    expect(await tag(page).inputValue()).toBe('mine');
    await settings(page).getByRole('button', { name: 'Use the new values' }).click();
    expect(await tag(page).inputValue()).toBe('theirs');
    expect(await save(page).isDisabled()).toBe(true);
    await page.context().close();
  });

  it('shows the values of another client with the words of the fields, for a boot override', async () => {
    await change('node-1', { Boot: { BootSourceOverrideTarget: 'Hdd', BootSourceOverrideEnabled: 'Once' } });
    const page = await openTab('node-1', '/boot');
    const form = card(page, 'Boot override');
    await form.getByLabel('Boot from').selectOption('CD or virtual media');
    await change('node-1', { Boot: { BootSourceOverrideTarget: 'Pxe' } });
    await form.getByText('Boot from: Disk → Network (PXE). Your input: CD or virtual media.').waitFor();
    await page.context().close();
  });

  it('keeps the input when another client changes the resource at the same time', async () => {
    await change('node-3', { AssetTag: 'old' });
    const page = await openTab('node-3');
    await tag(page).fill('mine');
    let isFirst = true;
    await page.route(`**${uriOf('node-3')}`, async (route) => {
      if (route.request().method() === 'PATCH' && isFirst) {
        isFirst = false;
        await change('node-3', { AssetTag: 'theirs' });
      }
      await route.continue();
    });
    await save(page).click();
    await settings(page).getByText('Asset tag: old → theirs.').waitFor();
    expect((await read('node-3')).AssetTag).toBe('theirs');
    await settings(page).getByRole('button', { name: 'Keep my input' }).click();
    await save(page).click();
    await saved(settings(page), 'Save');
    expect((await read('node-3')).AssetTag).toBe('mine');
    await page.context().close();
  });
});

describe.each(['light', 'dark'] as const)('the %s theme', (colorScheme) => {
  it.each([1440, 375])('has no fault that axe finds at a width of %i', async (width) => {
    const { page, faults } = await open(`${bmc.address}/ui/systems/${ids.get('node-1') ?? ''}`, {
      colorScheme,
      viewport: { width, height: 700 },
    });
    await logIn(page, 'olga');
    for (const [tab, part] of [
      ['Overview', 'Settings'],
      ['Boot', 'Boot order'],
      ['Firmware', 'Secure Boot'],
      ['Storage', 'VirtIO Storage'],
      ['Network', 'Interfaces of the machine'],
    ] as const) {
      await page.getByRole('link', { name: tab, exact: true }).click();
      await card(page, part).waitFor();
      await page.waitForFunction(() => document.querySelector('main .spinner') === null);
      expect([tab, await accessibilityFaults(page)]).toEqual([tab, []]);
      // The open tab is visible, and nothing is wider than the window.
      const { x = -1, width: size = 0 } = (await page.locator('.tabs [aria-current]').boundingBox()) ?? {};
      expect([x >= 0, x + size <= width]).toEqual([true, true]);
      expect(await page.evaluate(() => document.querySelector('main')?.scrollWidth)).toBeLessThanOrEqual(width);
      if (width === 1440 && colorScheme === 'light') await takePictures(page, `machine-${tab.toLowerCase()}`);
    }
    await page.getByText('More actions').click();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});

describeEndToEnd('a guest of libvirt', () => {
  let lab: Lab;
  let guest: Guest;
  beforeAll(async () => {
    lab = await Lab.start();
    guest = await lab.guest({ firmware: 'efi' });
  });
  afterAll(() => lab.stop());

  it('starts with the memory, the boot device and the volume that the page set, and is forced off', async () => {
    const { page } = await open(`${lab.bmc.address}/ui/systems/${guest.uuid}/firmware`);
    const tab = (name: string): Promise<void> => page.getByRole('link', { name, exact: true }).click();
    const settings = card(page, 'Firmware settings');
    const memory = Number(await settings.getByLabel('Memory Size').inputValue());
    await settings.getByLabel('Memory Size').fill(String(memory - 16));
    await settings.getByRole('button', { name: 'Save for the next start' }).click();
    // The form shows the current value beside each changed field, also before the save ends.
    await saved(settings, 'Save for the next start');
    await settings.getByText('Now:').waitFor();

    await tab('Storage');
    await page.getByRole('button', { name: 'Create a volume' }).first().click();
    const form = page.getByRole('dialog');
    await takePictures(page, 'dialog-volume');
    await form.getByLabel('Size in GiB').fill('0.01');
    await form.getByLabel('Name (optional)').fill('scratch');
    await form.getByRole('button', { name: 'Create a volume' }).click();
    const row = page.getByRole('row', { name: /^scratch/ });
    await row.waitFor();
    expect(await guest.definition()).toContain('rackless-volume');

    await tab('Boot');
    const override = card(page, 'Boot override');
    await override.getByLabel('Applies').selectOption('Once, at the next start');
    await override.getByLabel('Boot from').selectOption('Disk');
    await override.getByRole('button', { name: 'Set the override' }).click();
    await card(page, 'Boot order').getByText('The next start uses the boot override.').waitFor();
    await header(page).getByRole('button', { name: 'Start', exact: true }).click();
    await header(page).getByText('On', { exact: true }).waitFor();
    expect(await guest.boots()).toContain('label=DISK');
    // The start has used the override, so the card no longer announces it.
    await card(page, 'Boot order').getByText('The next start uses').waitFor({ state: 'detached' });
    await tab('Firmware');
    await settings.getByLabel('Memory Size').waitFor();
    expect(await settings.getByText('Now:').count()).toBe(0);
    expect(await guest.definition()).toContain(`<currentMemory unit='KiB'>${(memory - 16) * 1024}<`);

    await page.getByText('More actions').click();
    await header(page).getByRole('button', { name: 'Force off' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Force off' }).click();
    await header(page).getByText('Off', { exact: true }).waitFor();
    expect(await guest.state()).toBe('shut off');
    await tab('Storage');
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByLabel(/^Type/).fill('scratch');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    expect(await guest.definition()).not.toContain('rackless-volume');
    await page.context().close();
  });
});
