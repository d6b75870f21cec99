/** The screen of a QEMU guest in Chromium: firmware, keys, paste, several users, and losses. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { TestHost, type Guest, type GuestOptions } from '../../bmc-daemon/test/libvirt-driver/host.js';
import { screenText, typingDisk } from '../../bmc-daemon/test/screens/pictures.js';
import { logIn, startBmc, type Bmc, type User } from './harness/bmc.js';
import { accessibilityFaults, browserFixture, takePictures, type OpenedPage } from './harness/browser.js';
import { dialogFaults } from './harness/dialog.js';
import { screenCanvas as canvas, untilSame as untilPictureSame } from './harness/screen.js';

const VNC = `<graphics type='vnc' autoport='yes' passwd='hush'/><video><model type='vga'/></video>`;

const { open } = browserFixture();
let host: TestHost;
let bmc: Bmc;
beforeAll(async () => {
  host = await TestHost.start();
  bmc = await startBmc({ users: true, args: ['--libvirt-uri', host.libvirtd.uri] });
});
afterAll(async () => {
  await bmc.stop();
  await host.stop();
});

/** Defines a guest that shows on its screen what its user types. */
async function typingGuest(options: GuestOptions = {}): Promise<Guest> {
  const disk = host.file('typing.img');
  writeFileSync(disk, typingDisk());
  return await host.guest({ machine: 'pc', cdrom: '', disk, devices: VNC, ...options });
}

async function openTab({ uuid }: Guest, user: User): Promise<OpenedPage> {
  const opened = await open(`${bmc.address}/ui/systems/${uuid}/screen`, { acceptDownloads: true });
  await logIn(opened.page, user);
  return opened;
}

const untilSame = (page: Page, guest: Guest): Promise<void> => untilPictureSame(page, host, guest);

/** Waits until the guest's screen has a text. Returns all text of the screen. */
async function untilText(guest: Guest, wanted: string): Promise<string> {
  for (;;) {
    const text = await screenText(host, guest);
    if (text.includes(wanted)) return text;
  }
}

describe('the screen of a machine', () => {
  it('shows the firmware, sends keys and a pasted text, is saved as a PNG, and fills the whole display', async () => {
    const guest = await typingGuest();
    const { page, faults } = await openTab(guest, 'olga');
    await page.getByText('The machine is off').waitFor();
    await host.virsh('start', guest.name);
    await untilSame(page, guest);
    await untilText(guest, 'Booting from Hard Disk');
    await canvas(page).focus();
    // As a keyboard sends them: Shift is a key of its own.
    for (const key of ['Shift+KeyA', 'Shift+Digit1', 'Shift+Slash', 'KeyB']) await page.keyboard.press(key);
    await untilText(guest, 'A!?b');
    await page.keyboard.type('typed by-olga');
    await untilText(guest, 'typed by-olga');
    await untilSame(page, guest);
    await takePictures(page, 'screen');
    expect(await accessibilityFaults(page)).toEqual([]);

    await page.getByRole('button', { name: 'Paste' }).click();
    const dialog = page.getByRole('dialog', { name: 'Type a text into the machine' });
    await dialog.getByLabel('Text').fill('ü');
    await dialog.getByText('This keyboard layout has no keys for: ü').waitFor();
    expect(await dialogFaults(page, 'dialog-paste')).toEqual([]);
    await dialog.getByLabel('Text').fill(' {"Zy": $x@~|}');
    await dialog.getByRole('button', { name: 'Type' }).click();
    await dialog.waitFor({ state: 'detached' });
    await untilText(guest, 'typed by-olga {"Zy": $x@~|}');

    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Screenshot' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe(`${guest.name}-screen.png`);
    expect(
      readFileSync(await download.path())
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');

    await page.getByRole('button', { name: 'Full screen' }).click();
    await page.waitForFunction(() => document.fullscreenElement?.querySelector('canvas') instanceof HTMLCanvasElement);
    await page.evaluate(() => document.exitFullscreen());
    await page.waitForFunction(() => document.fullscreenElement === null);

    // The focus leaves the screen, and Ctrl+Alt+Del restarts the guest.
    await canvas(page).focus();
    await page.keyboard.press('Control+F6');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Ctrl+Alt+Del');
    await page.keyboard.press('Enter');
    while ((await screenText(host, guest)).includes('typed')) await untilText(guest, 'SeaBIOS');
    await untilSame(page, guest);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('sends keys of a phone: of its soft keyboard, special keys and modifiers', async () => {
    const guest = await typingGuest();
    await host.virsh('start', guest.name);
    const phone = { hasTouch: true, isMobile: true, viewport: { width: 375, height: 800 } };
    const { page, faults } = await open(`${bmc.address}/ui/systems/${guest.uuid}/screen`, phone);
    await logIn(page, 'olga');
    const touchKeys = page.getByRole('group', { name: 'Touch keys' });
    const tap = (name: string) => touchKeys.getByRole('button', { name, exact: true }).tap();
    await untilText(guest, 'Booting from Hard Disk');
    await untilSame(page, guest);

    await touchKeys.getByRole('textbox', { name: 'Type here' }).tap();
    // A soft keyboard composes words, and then changes them.
    const keyboard = await page.context().newCDPSession(page);
    for (const text of ['r', 'ro', 'rop', 'root']) {
      await keyboard.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
    }
    await keyboard.send('Input.insertText', { text: 'root' });
    await page.keyboard.insertText('-1');
    await tap('Shift');
    expect(await touchKeys.getByRole('button', { name: 'Shift' }).getAttribute('aria-pressed')).toBe('true');
    await page.keyboard.insertText('ab');
    await page.keyboard.press('Backspace');
    await page.keyboard.insertText('c');
    await untilText(guest, 'root-1Ac');
    expect(await touchKeys.getByRole('button', { name: 'Shift' }).getAttribute('aria-pressed')).toBe('false');
    // The keys do not take the focus, so the soft keyboard stays open.
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA');
    await page.keyboard.insertText('ü');
    await page.getByText('This keyboard layout has no keys for: ü').waitFor();
    await touchKeys.getByLabel('Keyboard layout of the guest').selectOption('de');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
    await takePictures(page, 'screen-touch');
    expect(await accessibilityFaults(page)).toEqual([]);

    await tap('Ctrl');
    await tap('Alt');
    await tap('Del');
    while ((await screenText(host, guest)).includes('root-1')) await untilText(guest, 'SeaBIOS');
    await untilText(guest, 'Booting from Hard Disk');
    await touchKeys.getByRole('textbox').tap();
    await page.keyboard.insertText('again');
    await untilText(guest, 'again');
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('shows two users the same picture, and sends only the keys of the user whose role permits it', async () => {
    const guest = await typingGuest();
    await host.virsh('start', guest.name);
    const [operator, reader] = [await openTab(guest, 'olga'), await openTab(guest, 'rick')];
    await untilText(guest, 'Booting from Hard Disk');
    await untilSame(reader.page, guest);
    await reader.page.getByText('Your role may watch').waitFor();
    expect(await reader.page.getByRole('button', { name: 'Paste' }).count()).toBe(0);
    await canvas(reader.page).focus();
    await reader.page.keyboard.type('reader');
    await untilSame(operator.page, guest);
    await canvas(operator.page).focus();
    await operator.page.keyboard.type('operator');
    expect(await untilText(guest, 'operator')).not.toContain('reader');
    await untilSame(reader.page, guest);

    // The machine is switched off and on.
    await host.virsh('destroy', guest.name);
    await reader.page.getByText('The machine is off').waitFor();
    await host.virsh('start', guest.name);
    await untilSame(reader.page, guest);
    expect([...operator.faults, ...reader.faults]).toEqual([]);
    await operator.page.context().close();
    await reader.page.context().close();
  });

  it('returns after the daemon was killed, and is gone from the end of the session until a new login', async () => {
    const guest = await typingGuest();
    await host.virsh('start', guest.name);
    const { page, faults } = await openTab(guest, 'admin');
    await untilSame(page, guest);
    await bmc.kill();
    await page.getByText('The connection is lost').waitFor();
    await bmc.restart();
    await logIn(page, 'admin');
    await untilSame(page, guest);
    const sessions = '/redfish/v1/SessionService/Sessions';
    const { Members } = (await (await bmc.ask('GET', sessions)).json()) as {
      readonly Members: readonly { readonly '@odata.id': string }[]; // a collection
    };
    for (const member of Members) await bmc.ask('DELETE', member['@odata.id']);
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    expect(await canvas(page).count()).toBe(0);
    await logIn(page, 'admin');
    await untilSame(page, guest);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('appears for a machine without a display after an operator has added one and restarted the machine', async () => {
    const guest = await typingGuest({ devices: '' });
    await host.virsh('start', guest.name);
    const reader = await openTab(guest, 'rick');
    await reader.page.getByText('An operator can add one').waitFor();
    await reader.page.context().close();
    const { page, faults } = await openTab(guest, 'olga');
    await page.getByRole('button', { name: 'Add a display' }).click();
    await page.getByText('from its next start on').waitFor();
    const uri = `/redfish/v1/Systems/${guest.uuid}/Actions/ComputerSystem.Reset`;
    expect((await bmc.ask('POST', uri, { ResetType: 'PowerCycle' })).ok).toBe(true);
    await untilSame(page, guest);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
