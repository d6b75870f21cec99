/** The virtual drives of a machine in Chromium: a guest boots from a file of the user's computer. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { Lab, type Guest } from '../../bmc-daemon/test/e2e/lab.js';
import { describeEndToEnd } from '../../bmc-daemon/test/e2e/prerequisites.js';
import { guestImage } from '../../bmc-daemon/test/harness/guest-image.js';
import { accessibilityFaults, browserFixture } from './harness/browser.js';

const MIB = 1_048_576;

describeEndToEnd('the page of the virtual drives of a machine', () => {
  const { open } = browserFixture();
  let lab: Lab;
  let guest: Guest;
  let folder: string;
  let file: string;
  let small: string;
  beforeAll(async () => {
    lab = await Lab.start();
    guest = await lab.guest();
    folder = await mkdtemp(join(tmpdir(), 'rackless-console-media-'));
    small = await guestImage({ kind: 'iso', system: 'grub', label: 'LOCAL' });
    file = join(folder, 'my image <b>.iso');
    // The console sends parts of 8 MiB, so this file has several parts.
    await writeFile(file, Buffer.concat([await readFile(small), Buffer.alloc(20 * MIB)]));
  });
  afterAll(async () => {
    await lab.stop();
    await rm(folder, { recursive: true });
  });

  const openTab = async (): Promise<Page> => {
    const { page } = await open(`${lab.bmc.address}/ui/systems/${guest.uuid}/media`);
    return page;
  };
  const cardOf = (page: Page) => page.getByRole('region', { name: 'Virtual CD' });
  const eject = async (page: Page): Promise<void> => {
    await cardOf(page).getByRole('button', { name: 'Eject' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Eject' }).click();
    await cardOf(page).getByText('Empty').waitFor();
  };

  it('sends a local file despite a broken connection, a pause and a reload, and the guest boots from it', async () => {
    const page = await openTab();
    const card = cardOf(page);
    let parts = 0;
    let isReachable = true;
    // The first part arrives. The next ones get no connection.
    const interrupt = async (route: Route): Promise<void> => {
      if (!isReachable) return route.abort();
      if (route.request().method() !== 'PATCH') return route.continue();
      parts += 1;
      return parts === 1 ? route.continue() : route.abort();
    };
    await page.route('**/Uploads/*', interrupt);
    await card.getByLabel('Image', { exact: true }).selectOption('From this computer');
    await card.locator('input[type=file]').setInputFiles(file);
    await card.getByRole('button', { name: 'Send and insert' }).click();
    await card.getByText('the connection is lost').waitFor();
    await card.getByText('8 MiB of').waitFor();
    await card.getByRole('button', { name: 'Pause' }).click();
    await card.getByText('paused').waitFor();

    // After a reload without a connection, a further reload still finds the upload.
    isReachable = false;
    const refused = page.waitForEvent('requestfailed', (request) => request.method() === 'HEAD');
    await page.reload();
    await refused;
    isReachable = true;
    await page.reload();
    await card.getByText('is not complete').waitFor();
    await page.unroute('**/Uploads/*', interrupt);
    await card.locator('input[type=file]').setInputFiles(small);
    await card.getByText('with the same size and date').waitFor();
    await card.locator('input[type=file]').setInputFiles(file);
    await card.getByRole('button', { name: 'Eject' }).waitFor();
    await card.getByText('my image <b>.iso').waitFor();
    expect(await lab.bmc.get(guest.drivePath)).toMatchObject({ ConnectedVia: 'Applet', ImageName: 'my image <b>.iso' });

    await guest.setBoot({ target: 'Cd', enabled: 'Once' });
    await guest.reset('On');
    expect(await guest.nextEvent()).toBe('RACKLESS-ISO label=LOCAL platform=pc');
    await guest.reset('ForceOff');
    await eject(page);
    expect(await lab.volumes()).toEqual([]);
    await page.context().close();
  });

  it('cancels an upload, and deletes what the pool has received', async () => {
    const page = await openTab();
    const card = cardOf(page);
    await page.route('**/Uploads/*', (route) =>
      route.request().method() === 'PATCH' ? route.abort() : route.continue(),
    );
    await card.getByLabel('Image', { exact: true }).selectOption('From this computer');
    await card.locator('input[type=file]').setInputFiles(file);
    await card.getByRole('button', { name: 'Send and insert' }).click();
    const dialog = page.getByRole('dialog');
    const cancel = async (): Promise<void> => {
      await card.getByRole('button', { name: 'Cancel the upload' }).click();
      await dialog.getByRole('listitem').getByText('The part that the service has received').waitFor();
    };
    await cancel();
    expect(await dialog.getByRole('button').allTextContents()).toEqual(['✕', 'Keep the upload', 'Cancel the upload']);
    await dialog.getByRole('button', { name: 'Keep the upload' }).click();
    await dialog.waitFor({ state: 'detached' });

    // The service does not answer: the dialog says so, and the upload can still continue.
    const refuse = (route: Route): Promise<void> =>
      route.request().method() === 'DELETE' ? route.abort() : route.fallback();
    await page.route('**/Uploads/*', refuse);
    await cancel();
    await dialog.getByRole('button', { name: 'Cancel the upload' }).click();
    await dialog.getByRole('alert').getByText('The service does not answer.').waitFor();
    await page.unroute('**/Uploads/*', refuse);
    await dialog.getByRole('button', { name: 'Keep the upload' }).click();
    await card.getByRole('button', { name: 'Continue' }).waitFor();

    await cancel();
    await dialog.getByRole('button', { name: 'Cancel the upload' }).click();
    await card.getByLabel('Image', { exact: true }).waitFor();
    expect(await lab.volumes()).toEqual([]);
    await page.context().close();
  });

  it('shows the error of a missing image, inserts an image from a server, and ejects it', async () => {
    const page = await openTab();
    const card = cardOf(page);
    await card.getByLabel('URL of the image').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const url = await lab.images.publish('server.iso', small);
    await card.getByLabel('URL of the image').fill(`${url}-missing`);
    await card.getByRole('button', { name: 'Insert' }).click();
    await card.getByRole('alert').waitFor();
    await card.getByLabel('URL of the image').fill(url);
    await card.getByRole('button', { name: 'Insert' }).click();
    await card.getByText('server.iso', { exact: true }).waitFor();
    await eject(page);
    await page.context().close();
  });
});
