import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DriverError } from '../../src/drivers/driver-error.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import type { MediaSnapshot } from '../../src/drivers/snapshot/media-snapshot.js';
import type { ImageRequest } from '../../src/media/image.js';
import { emptyCdDrive, emptyIdeDrive, expectBootOnce, guestFinds, TestHost, until, type Guest } from './host.js';
import { bootableDisk, bootableIso } from '../support/tiny-guest.js';
import { imageLimits } from '../support/image-limits.js';

let host: TestHost;

beforeAll(async () => {
  host = await TestHost.start();
  await mkdir(host.file('pool'));
  await host.virsh('pool-create-as', 'shared', 'dir', '--target', host.file('pool'));
});
afterAll(() => host.stop());

const image = (url: URL, more: Partial<ImageRequest> = {}): ImageRequest => ({
  url,
  writeProtected: true,
  verifyCertificate: true,
  ...more,
});
const empty: MediaSnapshot = {
  device: 'cdrom',
  inserted: false,
  image: null,
  imageName: null,
  writeProtected: true,
  viaUri: false,
  transferMethod: null,
  transferMethods: existsSync('/usr/lib/x86_64-linux-gnu/qemu/block-curl.so') ? ['upload', 'stream'] : ['upload'],
  verifyCertificate: null,
  certificates: [],
};
const driveWith = (url: URL): MediaSnapshot => ({
  ...empty,
  inserted: true,
  image: url.href,
  imageName: 'image.iso',
  viaUri: true,
  transferMethod: 'upload',
});

/**
 * Starts a server that sends 2 KiB of an image: then `asked` resolves. The server sends the rest at `finish()`, or
 * aborts the answer at `drop()`.
 */
async function slowServer(
  label: string,
): Promise<{ url: URL; asked: Promise<void>; finish: () => void; drop: () => void }> {
  const iso = bootableIso({ label });
  let pending: ServerResponse | undefined;
  let onAsked: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (onAsked = resolve));
  const url = await host.serve((_request: IncomingMessage, response) => {
    pending = response;
    response.writeHead(200, { 'content-length': iso.length });
    response.write(iso.subarray(0, 2048), () => onAsked());
  });
  return { url, asked, finish: () => pending?.end(iso.subarray(2048)), drop: () => pending?.destroy() };
}

/** Returns the kind of the DriverError with which a promise rejects. @throws {Error} for any other outcome. */
async function failure(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DriverError)) throw new Error(`expected a DriverError, got ${String(error)}`);
  return error.kind;
}

// The daemon's own pool is a folder that only the private libvirtd sees, so the driver sends images there through
// libvirt's streams.
describe.each([
  ['written into the directory of a pool', 'shared'],
  ["streamed into the daemon's own pool", null],
])('images %s', (_how, storagePool) => {
  let driver: CompleteDriver;
  beforeAll(async () => {
    driver = await host.driver({ storagePool });
  });
  // Drivers of one host overwrite each other's changes, so each suite closes its driver.
  afterAll(() => driver.close());
  const media = async ({ uuid }: Guest): Promise<MediaSnapshot | undefined> => (await driver.getSystem(uuid)).media[0];
  const volumes = async (): Promise<readonly string[]> => {
    const pool = storagePool ?? 'rackless-images';
    await host.virsh('pool-refresh', pool);
    return (await host.virsh('vol-list', pool)).split('\n').flatMap((line) => /\S+/.exec(line)?.[0] ?? []);
  };

  it('boot a machine that was off, and are deleted at the eject', async () => {
    const guest = await host.guest();
    const { url } = await host.serveImage('iso');
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    expect(await media(guest)).toEqual(driveWith(url));
    expect(await volumes()).toEqual([expect.stringMatching(/^rackless-[0-9a-f]{16}-[0-9a-f]{16}\.iso$/)]);
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    await driver.power(guest.uuid, 'create');
    expect(await guest.serial.reaches(2)).toEqual(['<power on>', 'boot iso']);
    await driver.power(guest.uuid, 'destroy');
    expect(await media(guest)).toEqual(driveWith(url));
    await driver.media.eject(guest.uuid, 'cdrom');
    expect(await media(guest)).toEqual(empty);
    expect(await volumes()).toEqual([]);
    // An eject of an empty drive also succeeds.
    await driver.media.eject(guest.uuid, 'cdrom');
  });

  it('boot a machine from a floppy drive that the driver adds for them', async () => {
    const guest = await host.guest({ machine: 'pc', cdrom: emptyIdeDrive });
    const { url } = await host.serveImage('floppy', bootableDisk({ label: 'floppy' }, 1_474_560));
    await driver.media.insert(guest.uuid, 'floppy', image(url));
    await expectBootOnce(driver, guest, 'fd', 'boot floppy');
    await driver.media.eject(guest.uuid, 'floppy');
    expect(await volumes()).toEqual([]);
  });

  it('are copied for each drive to which the guest may write, and an eject deletes the copy', async () => {
    const [reader, writer] = [await host.guest(), await host.guest()];
    const { url } = await host.serveImage('own');
    await driver.media.insert(reader.uuid, 'usb', image(url));
    await driver.power(writer.uuid, 'create');
    await driver.media.insert(writer.uuid, 'usb', image(url, { writeProtected: false }));
    // A running machine without a floppy drive gets a USB stick until the next start.
    await driver.media.insert(writer.uuid, 'floppy', image(url, { writeProtected: false }));
    const drives = async ({ uuid }: Guest): Promise<readonly unknown[]> =>
      (await driver.getSystem(uuid)).media.map(({ device, inserted, writeProtected }) => [
        device,
        inserted,
        writeProtected,
      ]);
    const stick = (await driver.getSystem(reader.uuid)).media.find(({ device }) => device === 'usb');
    expect(stick).toEqual({ ...driveWith(url), device: 'usb' });
    expect(await drives(writer)).toEqual([
      ['cdrom', false, true],
      ['floppy', true, false],
      ['usb', true, false],
    ]);
    expect((await driver.getSystem(writer.uuid)).disks.map(({ target }) => target)).toEqual(['vda', 'sda', 'fda']);
    const plugged = async (): Promise<number> =>
      (await host.virsh('domblklist', writer.name)).match(/ sd[b-z] /g)?.length ?? 0;
    expect([await plugged(), (await volumes()).length]).toEqual([2, 3]);
    expect(await failure(driver.media.insert(writer.uuid, 'usb', image(url)))).toBe('mediaInUse');
    await driver.media.eject(writer.uuid, 'usb');
    await driver.media.eject(writer.uuid, 'floppy');
    expect([await plugged(), (await volumes()).length]).toEqual([0, 1]);
    expect(await drives(writer)).toEqual([
      ['cdrom', false, true],
      ['floppy', false, true],
      ['usb', false, true],
    ]);
    await driver.media.eject(reader.uuid, 'usb');
    expect(await volumes()).toEqual([]);
    expect(await host.definitionOf(reader)).not.toContain(`bus='usb'`);
    await driver.power(writer.uuid, 'destroy');
  });

  it('appear in a running guest at an insert, and disappear at an eject', async () => {
    const guest = await host.guest({ machine: 'pc', cdrom: emptyIdeDrive });
    const { url } = await host.serveImage('live');
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await guestFinds(guest, 'no medium');
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    expect(await media(guest)).toEqual(driveWith(url));
    await guestFinds(guest, 'medium live');
    await driver.media.eject(guest.uuid, 'cdrom');
    expect(await media(guest)).toEqual(empty);
    await guestFinds(guest, 'no medium');
    expect(guest.serial.events.filter((line) => line === 'boot disk')).toHaveLength(1);
    expect(await host.inactiveXml(guest)).not.toContain('.iso');
    await driver.power(guest.uuid, 'destroy');
    expect(await volumes()).toEqual([]);
  });

  it('are downloaded once for all machines, and stay as long as one machine uses them', async () => {
    const [first, second, third] = await Promise.all([host.guest(), host.guest(), host.guest()]);
    const { url, requests } = await host.serveImage('shared');
    await Promise.all([first, second].map(({ uuid }) => driver.media.insert(uuid, 'cdrom', image(url))));
    expect(requests).toEqual(['GET']);
    await driver.media.insert(third.uuid, 'cdrom', image(url));
    expect(requests).toEqual(['GET', 'HEAD']);
    expect(await volumes()).toHaveLength(1);
    await driver.media.eject(first.uuid, 'cdrom');
    await driver.media.eject(second.uuid, 'cdrom');
    expect(await volumes()).toHaveLength(1);
    await driver.media.eject(third.uuid, 'cdrom');
    expect(await volumes()).toEqual([]);
  });

  it('are downloaded again at an insert if they changed on their server', async () => {
    const [first, second] = await Promise.all([host.guest(), host.guest()]);
    let version = 1;
    const url = await host.serve((request, response) => {
      const iso = bootableIso({ label: `v${version}` });
      response.writeHead(200, { 'content-length': iso.length, etag: `"v${version}"` });
      response.end(request.method === 'HEAD' ? undefined : iso);
    });
    await driver.media.insert(first.uuid, 'cdrom', image(url));
    version = 2;
    await driver.media.insert(second.uuid, 'cdrom', image(url));
    expect(await volumes()).toHaveLength(2);
    for (const { uuid } of [first, second]) await driver.media.eject(uuid, 'cdrom');
    expect(await volumes()).toEqual([]);
  });

  it('delay a power-on until their download ends', async () => {
    const guest = await host.guest();
    const { url, asked, finish } = await slowServer('late');
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    const insert = driver.media.insert(guest.uuid, 'cdrom', image(url));
    await asked;
    const powerOn = driver.power(guest.uuid, 'create');
    // Other changes of the machine do not wait for the download.
    await driver.change(guest.uuid, { indicator: 'off' });
    expect((await driver.getSystem(guest.uuid)).state).toBe('shutoff');
    finish();
    await Promise.all([insert, powerOn]);
    expect(await guest.serial.reaches(2)).toEqual(['<power on>', 'boot late']);
    await driver.power(guest.uuid, 'destroy');
    await driver.media.eject(guest.uuid, 'cdrom');
  });

  it('make a waiting power-on and restart fail if their download fails', async () => {
    const guest = await host.guest();
    const { url, asked, drop } = await slowServer('torn');
    const insert = failure(driver.media.insert(guest.uuid, 'cdrom', image(url)));
    await asked;
    const waiting = (['create', 'reset'] as const).map((action) => failure(driver.power(guest.uuid, action)));
    drop();
    expect(await insert).toBe('mediaUnreachable');
    expect(await Promise.all(waiting)).toEqual(['insertFailed', 'insertFailed']);
    expect((await driver.getSystem(guest.uuid)).state).toBe('shutoff');
    expect(guest.serial.events).toEqual([]);
    await driver.power(guest.uuid, 'create');
    expect(await guest.serial.reaches(2)).toEqual(['<power on>', 'boot disk']);
    await driver.power(guest.uuid, 'destroy');
  });

  it('leave no file if the download fails, and the kind of the error shows the reason', async () => {
    const guest = await host.guest();
    const broken = await host.serve((_request, response) => {
      response.writeHead(200, { 'content-length': 1_000_000 });
      response.write('half', () => response.destroy());
    });
    const missing = await host.serve((_request, response) => response.writeHead(404).end());
    const closed = await host.serve((_request, response) => response.writeHead(403).end());
    expect(await failure(driver.media.insert(guest.uuid, 'cdrom', image(broken)))).toBe('mediaUnreachable');
    expect(await failure(driver.media.insert(guest.uuid, 'cdrom', image(missing)))).toBe('mediaNotFound');
    expect(await failure(driver.media.insert(guest.uuid, 'cdrom', image(closed)))).toBe('mediaAuth');
    expect(await media(guest)).toEqual(empty);
    expect(await volumes()).toEqual([]);
  });

  it('leave no file if the client cancels the insert', async () => {
    const guest = await host.guest();
    const { url, asked } = await slowServer('never');
    const controller = new AbortController();
    const insert = driver.media.insert(guest.uuid, 'cdrom', image(url), { signal: controller.signal });
    const outcome = insert.catch((error: unknown) => error);
    await asked;
    const reason = new Error('the client disconnected');
    controller.abort(reason);
    expect(await outcome).toBe(reason);
    await until('the partial image to be removed', async () => (await volumes()).length === 0);
  });

  it('are rejected if they do not fit into the pool', async () => {
    const guest = await host.guest();
    const url = await host.serve((_request, response) => {
      response.writeHead(200, { 'content-length': 900_000_000_000_000 });
      response.write('x');
    });
    const roomy = await host.driver({ storagePool, images: { ...imageLimits, maxBytes: Number.MAX_SAFE_INTEGER } });
    expect(await failure(roomy.media.insert(guest.uuid, 'cdrom', image(url)))).toBe('storageFull');
    await roomy.close();
    expect(await volumes()).toEqual([]);
  });

  it("are removed at the start of the daemon if no machine uses them; the user's files stay", async () => {
    const { url, requests } = await host.serveImage('kept');
    const guest = await host.guest();
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    const [kept = ''] = await volumes();
    const pool = storagePool ?? 'rackless-images';
    const left = [
      'rackless-0123456789abcdef-0123456789abcdef.iso',
      'rackless-0123456789abcdef-0123456789abcdef.iso.part',
    ];
    for (const name of [...left, 'mine.iso']) await host.virsh('vol-create-as', pool, name, '1M');
    const next = await host.driver({ storagePool });
    await until('the sweep', async () => (await volumes()).length === 2);
    expect(await volumes()).toEqual(['mine.iso', kept]);
    // The new driver knows that the image in use is complete: it does not download the image again.
    const second = await host.guest();
    await next.media.insert(second.uuid, 'cdrom', image(url));
    expect(requests).toEqual(['GET', 'HEAD']);
    await next.media.eject(second.uuid, 'cdrom');
    await next.media.eject(guest.uuid, 'cdrom');
    await next.close();
    expect(await volumes()).toEqual(['mine.iso']);
    await host.virsh('vol-delete', '--pool', pool, 'mine.iso');
  });

  it('are removed when their machine is undefined', async () => {
    const guest = await host.guest();
    const { url } = await host.serveImage('orphan');
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    expect(await volumes()).toHaveLength(1);
    await host.virsh('undefine', guest.name);
    await until('the image to be removed', async () => (await volumes()).length === 0);
  });

  it('are removed when their transient machine ends', async () => {
    const guest = await host.guest();
    await host.virsh('undefine', guest.name);
    await host.virsh('create', host.file(`${guest.name}.xml`));
    const { url } = await host.serveImage('transient');
    await until('the machine to be listed', async () => !(await driver.getSystem(guest.uuid)).persistent);
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    expect(await volumes()).toHaveLength(1);
    await host.virsh('destroy', guest.name);
    await until('the image to be gone', async () => (await volumes()).length === 0);
  });

  it('are downloaded with user name and password, which the driver neither stores nor logs', async () => {
    const guest = await host.guest();
    const iso = bootableIso({ label: 'secret' });
    const url = await host.serve((request, response) => {
      const expected = `Basic ${Buffer.from('user:hunter2').toString('base64')}`;
      response.writeHead(request.headers.authorization === expected ? 200 : 401).end(iso);
    });
    const secretive = new URL(url);
    secretive.search = '?token=1';
    expect(await failure(driver.media.insert(guest.uuid, 'cdrom', image(secretive)))).toBe('mediaAuth');
    await driver.media.insert(guest.uuid, 'cdrom', image(secretive, { userName: 'user', password: 'hunter2' }));
    const xml = await host.inactiveXml(guest);
    expect(xml).toContain('?token=1');
    expect(xml).not.toContain('hunter2');
    expect(host.messages.join('\n')).not.toMatch(/hunter2|token/);
    await driver.media.eject(guest.uuid, 'cdrom');
  });
});

describe('drives', () => {
  let driver: CompleteDriver;
  beforeAll(async () => {
    driver = await host.driver({ storagePool: 'shared' });
  });
  afterAll(() => driver.close());
  const media = async ({ uuid }: Guest): Promise<MediaSnapshot | undefined> => (await driver.getSystem(uuid)).media[0];

  it('reject another image, and accept the same image again without a request to its server', async () => {
    const guest = await host.guest();
    const { url, requests } = await host.serveImage('a');
    const other = await host.serveImage('b');
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    expect(requests).toEqual(['GET']);
    expect(await failure(driver.media.insert(guest.uuid, 'cdrom', image(other.url)))).toBe('mediaInUse');
    expect(other.requests).toEqual([]);
    await driver.media.eject(guest.uuid, 'cdrom');
  });

  it('reject another image if they have an image of the user, and an eject does not delete its file', async () => {
    const guest = await host.guest({ cdrom: await host.drive('mine') });
    const { url } = await host.serveImage('a');
    expect(await media(guest)).toEqual({
      ...empty,
      inserted: true,
      image: host.file('mine.iso'),
      imageName: 'mine.iso',
    });
    expect(await failure(driver.media.insert(guest.uuid, 'cdrom', image(url)))).toBe('mediaInUse');
    await driver.media.eject(guest.uuid, 'cdrom');
    expect(await media(guest)).toEqual(empty);
    expect(await readdir(host.file('.'))).toContain('mine.iso');
  });

  it('are added to a machine without a CD drive at an insert while it is off', async () => {
    const guest = await host.guest({ cdrom: '' });
    const { url } = await host.serveImage('added');
    await driver.change(guest.uuid, { boot: { enabled: 'continuous', target: 'cdrom' } });
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    await driver.power(guest.uuid, 'create');
    expect(await guest.serial.reaches(2)).toEqual(['<power on>', 'boot added']);
    await driver.power(guest.uuid, 'destroy');
    await driver.media.eject(guest.uuid, 'cdrom');
    expect(await host.inactiveXml(guest)).toContain(`device='cdrom'`);
  });

  it('are hot-plugged into a running machine without a CD drive, which can then boot from the image', async () => {
    const guest = await host.guest({ cdrom: '', devices: `<controller type='usb' model='qemu-xhci'/>` });
    const { url } = await host.serveImage('plugged');
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    expect(await media(guest)).toEqual(driveWith(url));
    guest.serial.send('r');
    expect(await guest.serial.reaches(3)).toEqual(['<power on>', 'boot disk', 'boot plugged']);
    await driver.media.eject(guest.uuid, 'cdrom');
    expect(await media(guest)).toEqual(empty);
    expect(await readdir(host.file('pool'))).toEqual([]);
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    expect(await media(guest)).toEqual(driveWith(url));
    await driver.power(guest.uuid, 'destroy');
    expect(await media(guest)).toEqual(driveWith(url));
    await driver.media.eject(guest.uuid, 'cdrom');
  });

  it('get the image at the next start if the running machine accepts no new drive', async () => {
    const guest = await host.guest({ cdrom: '', devices: `<controller type='usb' model='none'/>` });
    const { url } = await host.serveImage('next');
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    expect(host.messages.join('\n')).toContain(`machine ${guest.name} accepts no drive while it runs`);
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    // The running process has no such drive, so the restart starts a new process.
    await driver.power(guest.uuid, 'reset');
    expect((await guest.serial.reaches(4)).slice(2)).toEqual(['<power on>', 'boot next']);
    await driver.power(guest.uuid, 'destroy');
    await driver.media.eject(guest.uuid, 'cdrom');
  });

  it('keep all settings of the user through an insert and an eject', async () => {
    const cdrom = emptyCdDrive.replace('<readonly/>', `<readonly/><serial>CD-1</serial><alias name='ua-cd'/>`);
    const guest = await host.guest({ cdrom });
    const definition = await host.inactiveXml(guest);
    const { url } = await host.serveImage('kept');
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    await driver.media.eject(guest.uuid, 'cdrom');
    expect(await host.definitionOf(guest)).toBe(definition);
  });

  it('get an image that is stored in the folder of the pool, even if its URL names another folder', async () => {
    const guest = await host.guest();
    await writeFile(host.file('pool/keep'), '');
    const iso = bootableIso({ label: 'x' });
    const url = await host.serve((_request, response) => response.end(iso));
    url.pathname = '/%2e%2e%2f%2e%2e%2fetc%2fcron.d%2fx.iso';
    await driver.media.insert(guest.uuid, 'cdrom', image(url));
    expect((await readdir(host.file('pool'))).sort()).toEqual([
      'keep',
      expect.stringMatching(/^rackless-[0-9a-f-]+\.iso$/),
    ]);
    await driver.media.eject(guest.uuid, 'cdrom');
  });
});
