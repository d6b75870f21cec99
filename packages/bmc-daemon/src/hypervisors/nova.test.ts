import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { waitFor } from '../../test/daemon/process.js';
import { startImages, iso, type Images } from '../../test/nova/media-lab.js';
import { mediaSettings, PASSWORD, startCloudServer, type CloudServer } from '../../test/support/cloud-server.js';
import { createGlance, type Glance } from '../../test/support/glance.js';
import { idOf, listServers } from '../../test/support/listed-servers.js';
import { loadSettings } from '../config/load.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import { nova } from './nova.js';

let folder: string;
let stateDir: string;
let cloud: CloudServer;
let glance: Glance;
let images: Images;
let drivers: HypervisorDriver[];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'rackless-nova-'));
  stateDir = path.join(folder, 'state');
  mkdirSync(stateDir);
  drivers = [];
  cloud = await startCloudServer();
  listServers(cloud).put(1);
  glance = createGlance();
  cloud.others.set('image', glance.handler);
  images = await startImages();
  images.contents.set('/boot.iso', iso);
  const auth = { auth_url: cloud.url, user_id: 'u', password: PASSWORD, project_id: 'p' };
  writeFileSync(
    path.join(folder, 'clouds.json'),
    JSON.stringify({ clouds: { lab: { auth, region_name: 'R1', interface: 'public' } } }),
  );
});
afterEach(async () => {
  await Promise.all(drivers.map((driver) => driver.close()));
  images.close();
  await cloud.close();
  rmSync(folder, { recursive: true });
});

/** Starts a driver, as a daemon with the state folder `stateDir` does. */
async function start(): Promise<HypervisorDriver> {
  const driver = await nova('lab', {
    settings: { ...loadSettings({}).settings, stateDir },
    environment: { OS_CLIENT_CONFIG_FILE: path.join(folder, 'clouds.json') },
    images: mediaSettings.limits,
    store: null,
    log: createTestLog({ level: 'error', format: 'text', write: () => undefined }),
    machineFile: null,
    settingError: (_key, sentence, cause) => new Error(sentence, { cause }),
  });
  drivers.push(driver);
  await driver.start();
  return driver;
}

/**
 * Begins an insert, and returns as soon as the image server has sent half of the image and Glance has the image of
 * the upload. `end` sends the other half.
 */
async function beginInsert(driver: HypervisorDriver): Promise<{ readonly end: () => Promise<void> }> {
  let sendRest = (): void => undefined;
  const halfSent = new Promise<void>((resolve) => {
    images.onHalf = (response) => {
      sendRest = () => void response.end(iso.subarray(iso.length / 2));
      resolve();
    };
  });
  const image = { url: new URL(`${images.url}/boot.iso`), writeProtected: true, verifyCertificate: true };
  const inserted = driver.media?.insert(idOf(1), 'cdrom', image);
  await halfSent;
  await waitFor(
    () => (glance.images.size === 1 ? true : undefined),
    () => 'the driver creates no image',
  );
  return {
    end: async () => {
      sendRest();
      await inserted;
    },
  };
}

/** Waits until a sweep has deleted this image. A sweep deletes older unused images first, so these are gone, too. */
async function untilSwept(unused: string): Promise<void> {
  await waitFor(
    () => (glance.images.has(unused) ? undefined : true),
    () => 'no sweep deletes the unused image',
  );
}

it('a daemon keeps the unfinished upload of a replica with the same host name and state path', async () => {
  const insert = await beginInsert(await start());
  // The other replica runs in another container, with a volume of its own.
  renameSync(stateDir, path.join(folder, 'state of the first replica'));
  const [uploading] = [...glance.images.keys()];
  const unused = glance.put();
  await start();
  await untilSwept(unused);
  expect([...glance.images.keys()]).toEqual([uploading]);
  await insert.end();
  expect([...glance.images.values()]).toMatchObject([{ id: uploading, status: 'active' }]);
});

it('a daemon deletes the unfinished upload of its killed predecessor with the same state folder at once', async () => {
  const insert = await beginInsert(await start());
  const unused = glance.put();
  // The first driver still runs. The second one treats it as killed, because both have the same state folder.
  await start();
  await untilSwept(unused);
  expect([...glance.images.keys()]).toEqual([]);
  await insert.end().catch(() => undefined);
});
