/**
 * Guests in Chromium: an operator starts Linux, watches it boot, and keeps a screen while libvirt
 * is stopped.
 */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeEndToEnd } from '../../bmc-daemon/test/e2e/prerequisites.js';
import { guestImage } from '../../bmc-daemon/test/harness/guest-image.js';
import { TestHost, type Guest } from '../../bmc-daemon/test/libvirt-driver/host.js';
import { screenText, typingDisk } from '../../bmc-daemon/test/screens/pictures.js';
import { logIn, machineRow, startBmc, type Bmc } from './harness/bmc.js';
import { browserFixture, takePictures } from './harness/browser.js';
import { untilSame, screenCanvas } from './harness/screen.js';

const DEVICES = `<graphics type='vnc' autoport='yes' passwd='hush'/><video><model type='vga'/></video>`;

describeEndToEnd('a guest', () => {
  const { open } = browserFixture();
  let host: TestHost;
  let bmc: Bmc;
  let linux: Guest;
  let guest: Guest;
  beforeAll(async () => {
    host = await TestHost.start();
    bmc = await startBmc({ users: true, args: ['--libvirt-uri', host.libvirtd.uri] });
    const disk = await guestImage({ kind: 'disk', system: 'linux', label: 'WATCHED' });
    // The boot menu keeps the firmware on the screen for a while.
    const os = `<bootmenu enable='yes' timeout='15000'/>`;
    linux = await host.guest({ machine: 'pc', cdrom: '', disk, devices: DEVICES, memoryMiB: 256, os });
    const typing = host.file('typing.img');
    writeFileSync(typing, typingDisk());
    guest = await host.guest({ machine: 'pc', cdrom: '', disk: typing, devices: DEVICES });
  });
  afterAll(async () => {
    await bmc.stop();
    await host.stop();
  });

  const untilText = async (of: Guest, wanted: string): Promise<void> => {
    while (!(await screenText(host, of)).includes(wanted)) await new Promise((resolve) => setTimeout(resolve, 100));
  };
  /** Types a line after a prompt. The keyboard of a guest loses keys that arrive faster than the guest reads them. */
  const typeLine = async (page: Page, of: Guest, { after, text }: { after: string; text: string }): Promise<void> => {
    await untilText(of, after);
    for (let typed = 1; typed <= text.length; typed += 1) {
      await page.keyboard.type(text.charAt(typed - 1));
      await untilText(of, after + text.slice(0, typed));
    }
    await page.keyboard.press('Enter');
  };
  const state = (page: Page, text: string): Promise<void> =>
    page.locator('.page-header').getByText(text, { exact: true }).waitFor();

  it('is started on its page, and its screen shows the firmware and the login prompt of Linux as QEMU does', async () => {
    const { page, faults } = await open(`${bmc.address}/ui/systems/${linux.uuid}/screen`);
    await logIn(page, 'olga');
    await page.getByText('The machine is off').waitFor();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    // The screen of a guest can be read only while it runs.
    await state(page, 'On');
    await untilText(linux, 'SeaBIOS');
    // A paused guest waits until the pictures are compared.
    await host.virsh('suspend', linux.name);
    await untilSame(page, host, linux);
    expect(await screenText(host, linux)).toContain('SeaBIOS');
    await host.virsh('resume', linux.name);

    await untilText(linux, 'RACKLESS-DISK label=WATCHED platform=pc linux');
    await untilText(linux, 'guest login:');
    await untilSame(page, host, linux);
    await screenCanvas(page).focus();
    await typeLine(page, linux, { after: 'guest login: ', text: 'root' });
    await typeLine(page, linux, { after: '/ # ', text: 'uname' });
    await untilText(linux, 'Linux');
    await untilSame(page, host, linux);
    await takePictures(page, 'screen-linux');
    await host.virsh('destroy', linux.name);
    await page.getByText('The machine is off').waitFor();
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('shows its state within a second of an event of libvirt', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    await logIn(page, 'rick');
    await page.getByText('Live').waitFor();
    const badge = machineRow(page, guest.name).locator('.badge').first();
    const shown = async (text: string, action: string): Promise<number> => {
      await badge.getByText(text === 'On' ? 'Off' : 'On', { exact: true }).waitFor();
      const changed = badge
        .getByText(text, { exact: true })
        .waitFor()
        .then(() => performance.now());
      await host.virsh(action, guest.name);
      // libvirt has sent the event when virsh returns.
      const done = performance.now();
      return (await changed) - done;
    };
    const times = [await shown('On', 'start'), await shown('Off', 'destroy')];
    expect(Math.max(...times)).toBeLessThan(1000);
    await page.context().close();
  });

  it('keeps its screen while libvirt is stopped, and its state is live again when libvirt has started', async () => {
    await host.virsh('start', guest.name);
    await untilText(guest, 'Booting from Hard Disk');
    const { page, faults } = await open(`${bmc.address}/ui/systems/${guest.uuid}/screen`);
    await logIn(page, 'olga');
    await untilSame(page, host, guest);
    await host.libvirtd.stopDaemon('SIGKILL');
    // QEMU and the picture do not need libvirt.
    await screenCanvas(page).focus();
    await page.keyboard.type('typed-without-libvirt');
    await host.libvirtd.start();
    await untilText(guest, 'typed-without-libvirt');
    await untilSame(page, host, guest);

    await host.virsh('destroy', guest.name);
    await state(page, 'Off');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await state(page, 'On');
    await untilText(guest, 'SeaBIOS');
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
