/**
 * Takes the pictures of docs/guides/console.md again: `scripts/start setup`, then
 * `node packages/console/scripts/pictures.js [NAME]...`. Most pictures show machines in memory.
 *
 * The pictures of the serial console and the screen show a Linux guest. `RACKLESS_PICTURE_LIBVIRT=qemu:///system` and
 * `RACKLESS_PICTURE_MACHINE=NAME` name a machine that is off, with a serial port and a VNC display. The script starts
 * this machine, and powers it off at the end. Without these variables, both pictures stay as they are.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const root = join(import.meta.dirname, '../../..');
const target = join(root, 'docs/guides/pictures');
const PASSWORD = 'Secret-words-1';
const MAX_BYTES = 40 * 1024;
const MACHINES = `machines:
- {name: "node-{n}", count: 40, boot_device: Hdd, overrides: {node-2: {power_state: "On"}, node-5: {power_state: "On"}}}
- {name: "db-{n}", count: 3, power_state: "On", failures: [{effect: error, operation: power_off, calls: 1}]}
- {name: "app-{n}", count: 6, power_state: "On", boot_device: Pxe}
`;

const row = (page, name) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true });
const heading = (page, name) => page.getByRole('heading', { name }).first().waitFor();

/** Opens a tab of a machine. */
const openTab = async (page, machine, tab) => {
  await page.getByRole('link', { name: machine, exact: true }).click();
  await page.getByRole('link', { name: tab, exact: true }).click();
};

/** Number of measured values after which the script takes the picture of the telemetry. */
const VALUES = 12;

/** The pictures: their names, and how to open what they show. */
const pictures = {
  machines: async (page) => {
    await row(page, 'app-1').check();
    await row(page, 'app-2').check();
  },
  bulk: async (page) => {
    for (const name of ['db-1', 'db-2', 'db-3', 'node-1', 'node-2', 'app-1', 'app-2']) await row(page, name).check();
    await page.getByRole('region', { name: 'Actions' }).getByRole('button', { name: 'Force off' }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Force off/ })
      .click();
    await page.getByRole('dialog').getByText('Finished').waitFor();
  },
  boot: async (page) => {
    await openTab(page, 'app-3', 'Boot');
    await heading(page, 'Boot order');
  },
  media: async (page) => {
    await openTab(page, 'app-3', 'Media');
    await page
      .getByRole('button', { name: /Insert/ })
      .first()
      .waitFor();
  },
  telemetry: async (page) => {
    await openTab(page, 'app-3', 'Telemetry');
    await page.locator('main').getByRole('combobox').nth(1).selectOption({ label: 'Measured every 5 seconds' });
    const chart = page.getByRole('figure').first();
    await chart.getByText('Show as a table').click();
    await chart.getByRole('row').nth(VALUES).waitFor({ timeout: 300_000 });
    await chart.getByText('Show as a table').click();
  },
  accounts: async (page) => {
    await page.getByRole('link', { name: 'Accounts', exact: true }).click();
    await page.getByRole('row', { name: /olga/ }).waitFor();
  },
};

/** The pictures of a guest, in the order of its boot. */
const guestPictures = (name) => ({
  screen: async (page) => {
    await openTab(page, name, 'Screen');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.locator('.toast button').click();
    await page.locator('.screen-picture canvas').waitFor();
    // The firmware has written its first lines when many pixels are bright.
    await page.waitForFunction(() => {
      const canvas = globalThis.document.querySelector('.screen-picture canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, index) => index % 4 !== 3 && value > 128).length > 2000;
    });
  },
  serial: async (page) => {
    await openTab(page, name, 'Serial');
    // The prompt of a login or of a shell.
    await page
      .locator('.xterm-rows > div')
      .filter({ hasText: /(login:|[#$])\s*$/ })
      .first()
      .waitFor({ timeout: 300_000 });
  },
});

/** Starts a daemon with three users. @param machines the arguments of the daemon that name the machines. */
async function startDaemon(folder, machines) {
  const users = ['admin', 'olga', 'rick'].map((user) => {
    const { stdout, status } = spawnSync('htpasswd', ['-nbB', user, PASSWORD], { encoding: 'utf8' });
    if (status !== 0) throw new Error('htpasswd failed: install the package apache2-utils');
    return stdout.trim();
  });
  writeFileSync(join(folder, 'users'), `${users.join('\n')}\n`, { mode: 0o600 });
  writeFileSync(join(folder, 'bmc.conf'), `EMULATOR_AUTH_FILE = ${JSON.stringify(join(folder, 'users'))}\n`);
  const daemon = spawn(
    join(root, 'bin/bmc-daemon'),
    [...machines, '--config', join(folder, 'bmc.conf'), '-i', '127.0.0.1', '-p', '0'],
    {
      env: { ...process.env, STATE_DIRECTORY: join(folder, 'state'), EMULATOR_CONSOLE_SSH_PORT: 'None' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const address = new Promise((resolve, reject) => {
    let last = '';
    daemon.once('close', () => reject(new Error(`bmc-daemon did not start: ${last}`)));
    for (const stream of [daemon.stdout, daemon.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        last = line;
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
        if (found !== undefined) resolve(found);
      });
    }
  });
  return { daemon, address: await address };
}

/** Converts a picture to WebP in Chromium, because a WebP has a quarter of the bytes of a PNG. */
async function toWebp(page, png) {
  const url = await page.evaluate(async (base64) => {
    const image = await globalThis.createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob());
    const canvas = globalThis.document.createElement('canvas');
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', 0.8);
  }, png.toString('base64'));
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}

/** Opens the console, logs in, opens what a picture shows, and writes the picture. */
async function take(browser, address, name, open) {
  const page = await browser.newPage({ viewport: { width: 1000, height: 620 }, reducedMotion: 'reduce' });
  await page.goto(`${address}/ui/`);
  await page.getByLabel('User').fill('admin');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText(/^\d+ machines?$/).waitFor();
  await open(page);
  await page.getByText('Loading').first().waitFor({ state: 'detached' });
  const png = await page.screenshot();
  const blank = await browser.newPage();
  const webp = await toWebp(blank, png);
  if (webp.length > MAX_BYTES) throw new Error(`${name}.webp has ${webp.length} bytes, more than ${MAX_BYTES}`);
  writeFileSync(join(target, `${name}.webp`), webp);
  process.stdout.write(`${name}.webp ${webp.length}\n`);
  await page.close();
  await blank.close();
}

/** Takes pictures of the machines of one daemon. */
async function takeAll(browser, machines, wanted) {
  const folder = mkdtempSync(join(tmpdir(), 'rackless-pictures-'));
  const { daemon, address } = await startDaemon(folder, machines);
  try {
    for (const [name, open] of wanted) await take(browser, address, name, open);
  } finally {
    daemon.kill();
    await once(daemon, 'exit');
    rmSync(folder, { recursive: true });
  }
}

const names = process.argv.slice(2);
const wantedOf = (all) => Object.entries(all).filter(([name]) => names.length === 0 || names.includes(name));
const { RACKLESS_PICTURE_LIBVIRT: uri, RACKLESS_PICTURE_MACHINE: guest } = process.env;
const lab = join(mkdtempSync(join(tmpdir(), 'rackless-lab-')), 'lab.yaml');
writeFileSync(lab, MACHINES);
// As root, Chromium does not start with its sandbox.
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'] });
try {
  const inMemory = wantedOf(pictures);
  if (inMemory.length > 0) await takeAll(browser, ['--fake', '--fake-machines', lab], inMemory);
  if (uri !== undefined && guest !== undefined) {
    await takeAll(browser, ['--libvirt-uri', uri], wantedOf(guestPictures(guest)));
    spawnSync('virsh', ['--quiet', '--connect', uri, 'destroy', guest], { stdio: 'inherit' });
  }
} finally {
  await browser.close();
  rmSync(dirname(lab), { recursive: true });
}
