/** The serial console of a QEMU guest in Chromium: two users, one keyboard, a hostile guest. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeEndToEnd } from '../../bmc-daemon/test/e2e/prerequisites.js';
import { copyGuestImage } from '../../bmc-daemon/test/harness/guest-image.js';
import { guestMachineXml } from '../../bmc-daemon/test/harness/guest-machine.js';
import { startLibvirtd, type PrivateLibvirtd } from '../../libvirt/test/harness/libvirtd.js';
import { logIn, startBmc, type Bmc, type User } from './harness/bmc.js';
import { accessibilityFaults, browserFixture, takePictures, type OpenedPage } from './harness/browser.js';

const NAME = 'serial-guest';
const UUID = 'e2e00000-0000-4000-8000-0000000005e1';

describeEndToEnd('the serial console of a machine', () => {
  const { open } = browserFixture();
  let libvirtd: PrivateLibvirtd;
  let bmc: Bmc;
  const virsh = (...words: readonly string[]) =>
    promisify(execFile)('virsh', ['--quiet', '--connect', libvirtd.uri, ...words]);
  beforeAll(async () => {
    libvirtd = await startLibvirtd({ driver: 'qemu' });
    bmc = await startBmc({ users: true, args: ['--libvirt-uri', libvirtd.uri] });
    const file = (name: string): string => join(libvirtd.dir, 'tmp', name);
    const disk = await copyGuestImage({ kind: 'disk', system: 'linux', label: 'SERIAL' }, file('serial.img'));
    const serial = { markup: "<serial type='pty'/>" };
    writeFileSync(
      file('serial.xml'),
      guestMachineXml({ name: NAME, uuid: UUID, firmware: 'bios', machine: 'pc', disk, serial }),
    );
    await virsh('define', file('serial.xml'));
  });
  afterAll(async () => {
    await bmc.stop();
    await libvirtd.stop();
  });

  const openTab = async (user: User): Promise<OpenedPage> => {
    const opened = await open(`${bmc.address}/ui/systems/${UUID}/serial`, { acceptDownloads: true });
    await logIn(opened.page, user);
    return opened;
  };
  const shows = (page: Page, text: RegExp | string) => page.locator('.xterm-rows').getByText(text).first().waitFor();
  const status = (page: Page, text: RegExp | string) => page.getByText(text).first().waitFor();

  it('shows the boot, sends what the user types, and hands the keyboard to another user', async () => {
    const first = await openTab('admin');
    await status(first.page, 'Closed: the machine is off');
    await virsh('start', NAME);
    await shows(first.page, 'rackless# ');
    await first.page.keyboard.type('echo typed-by-admin\n');
    await shows(first.page, 'typed-by-admin');
    await status(first.page, 'You have the keyboard.');
    await takePictures(first.page, 'serial');
    expect(await accessibilityFaults(first.page)).toEqual([]);

    // The second user sees the output from before.
    const second = await openTab('olga');
    await shows(second.page, 'RACKLESS-DISK label=SERIAL');
    await shows(second.page, 'typed-by-admin');
    await status(second.page, /^admin at .* has the keyboard/);
    await second.page.locator('.xterm-helper-textarea').focus();
    await second.page.keyboard.type('echo not-allowed\n');
    await second.page.getByRole('button', { name: 'Ask for the keyboard' }).click();
    await status(first.page, /olga at .* asks for the keyboard/);
    await first.page.getByRole('button', { name: 'Hand over' }).click();
    await status(second.page, 'You have the keyboard.');
    await second.page.locator('.xterm-helper-textarea').focus();
    await second.page.keyboard.type('echo typed-by-olga\n');
    await shows(first.page, 'typed-by-olga');
    expect(await first.page.locator('.xterm-rows').innerText()).not.toContain('not-allowed');

    await first.page.getByRole('searchbox', { name: 'Search the output' }).fill('no such text');
    await first.page.keyboard.press('Enter');
    await status(first.page, 'No match');
    const downloading = first.page.waitForEvent('download');
    await first.page.getByRole('button', { name: 'Download log' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe(`${NAME}-serial.log`);
    expect(readFileSync(await download.path(), 'utf8')).toContain('RACKLESS-DISK label=SERIAL');
    await first.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await first.page.getByRole('button', { name: 'Copy' }).click();
    await first.page.waitForFunction(async () => (await navigator.clipboard.readText()).includes('typed-by-olga'));
    await second.page.getByRole('button', { name: 'Set the size' }).click();
    await shows(first.page, /stty columns \d+ rows \d+/);
    expect([...first.faults, ...second.faults]).toEqual([]);
    await second.page.context().close();
    await first.page.context().close();
  });

  it('returns after the daemon was killed, and after the guest was restarted', async () => {
    const { page, faults } = await openTab('admin');
    await shows(page, 'rackless# ');
    await bmc.kill();
    await status(page, /The connection is lost/);
    await bmc.restart();
    await logIn(page, 'admin');
    await status(page, 'Connected');
    await page.locator('.xterm-helper-textarea').focus();
    await page.keyboard.type('echo typed-after-the-kill\n');
    await shows(page, 'typed-after-the-kill');
    await page.keyboard.type('reboot\n');
    await page.locator('.xterm-rows').getByText('typed-after-the-kill').first().waitFor({ state: 'detached' });
    await shows(page, 'rackless# ');
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('runs no script, and opens no page, for the output of a hostile guest', async () => {
    const { page, faults } = await openTab('admin');
    await shows(page, 'rackless# ');
    const { pathname } = new URL(page.url());
    await page.locator('.xterm-helper-textarea').focus();
    // An image, a link, a window title, text for the clipboard, and questions to the terminal.
    const hostile = String.raw`<img src=x onerror=alert(1)> \033]8;;javascript:alert(2)\033\\link\033]8;;\033\\ \033]0;<script>alert(3)</script>\007 \033]52;c;YWxlcnQ=\007 \033[c\033[6n\033[?1000h`;
    await page.keyboard.type(`printf '${hostile} the-%s\\n' end\n`);
    await shows(page, 'the-end');
    await page.locator('.xterm-rows').getByText('link').last().click({ force: true });
    expect([new URL(page.url()).pathname, page.context().pages().length]).toEqual([pathname, 1]);
    expect(await page.title()).not.toContain('script');
    expect(await page.locator('img[src=x]').count()).toBe(0);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('is not offered to the role ReadOnly, and its page says why', async () => {
    const { page } = await openTab('rick');
    await status(page, 'your role may not use this part');
    expect(await page.getByRole('link', { name: 'Serial' }).count()).toBe(0);
    await page.context().close();
  });
});
