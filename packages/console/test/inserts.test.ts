/** An insert of an image from a server in Chromium, while the user looks at another tab of the machine. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { logIn, machineRow, startBmc, type Bmc } from './harness/bmc.js';
import { browserFixture } from './harness/browser.js';

const { open } = browserFixture();
let folder: string;
let bmc: Bmc;
let images: Server;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-console-inserts-'));
  const file = join(folder, 'lab.yaml');
  writeFileSync(file, 'delays: {insert: 600}\nmachines: [{name: slow}]\n');
  images = createServer((_request, response) => response.end('an image'));
  images.listen(0, '127.0.0.1');
  await once(images, 'listening');
  bmc = await startBmc({ users: true, args: ['--fake', '--fake-machines', file] });
});
afterAll(async () => {
  await bmc.stop();
  images.closeAllConnections();
  images.close();
  rmSync(folder, { recursive: true });
});

it('an insert shows its progress again after a visit to another tab, and can then be cancelled', async () => {
  const url = `http://127.0.0.1:${(images.address() as AddressInfo).port}/<b>slow.iso`; // a TCP server
  const { page, faults } = await open(`${bmc.address}/ui/`);
  await logIn(page, 'admin');
  await machineRow(page, 'slow').getByRole('link').click();
  await page.getByRole('link', { name: 'Media', exact: true }).click();
  const card = page.getByRole('region', { name: 'Virtual CD' });
  await card.getByLabel('URL of the image').fill(url);
  await card.getByRole('button', { name: 'Insert' }).click();
  await card.getByRole('progressbar').waitFor();
  await page.getByRole('link', { name: 'Boot', exact: true }).click();
  await page.getByRole('heading', { name: 'Boot order', exact: true }).waitFor();
  await page.getByRole('link', { name: 'Media', exact: true }).click();
  await card.getByRole('progressbar').waitFor();
  expect(await card.getByLabel('URL of the image').inputValue()).toBe(url);
  await card.getByRole('button', { name: 'Cancel' }).click();
  await card.getByRole('alert').waitFor();
  expect(await card.getByRole('progressbar').count()).toBe(0);
  expect(faults).toEqual([]);
  await page.context().close();
});
