import { createServer, type Server } from 'node:http';
import { isIPv4, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ImageRequest } from '../../media/image.js';
import { DriverError, type DriverErrorKind } from '../driver-error.js';
import { FakeDriver } from './fake-driver.js';
import { MEDIA_DEVICES } from '../snapshot/media-snapshot.js';
import { emptyDrive, sampleMachines } from './sample-machines.js';

const [off, running] = ['node-1', 'node-2'];

function image(url: string, extra: Partial<ImageRequest> = {}): ImageRequest {
  return { url: new URL(url), writeProtected: true, verifyCertificate: true, ...extra };
}

/** Returns the kind of the error of a failed call. Throws if the call succeeds, and for any other error. */
async function kindOf(promise: Promise<unknown>): Promise<DriverErrorKind> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof DriverError) return error.kind;
    throw error;
  }
  throw new Error('resolved');
}

/** Returns a driver whose downloads end when the test calls `finish`. */
function slowDriver(): { driver: FakeDriver; begun: Promise<void>; finish: (error?: Error) => void } {
  let finish: (error?: Error) => void = () => undefined;
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const ended = new Promise<void>((resolve, reject) => {
    finish = (error) => {
      if (error === undefined) resolve();
      else reject(error);
    };
  });
  const driver = new FakeDriver({
    fetchImage: (_image, { signal }) => {
      begin();
      return Promise.race([
        ended,
        new Promise<never>((_resolve, reject) =>
          signal?.addEventListener('abort', () => reject(signal.reason as Error)),
        ),
      ]);
    },
  });
  return { driver, begun, finish };
}

const emptyDrives = MEDIA_DEVICES.map((device) => emptyDrive(device));

describe('the fake driver', () => {
  it('finds a machine by UUID in any case and by name, and rejects an unknown name', async () => {
    const driver = new FakeDriver();
    const machine = await driver.getSystem(off);
    await expect(driver.getSystem(machine.uuid.toUpperCase())).resolves.toBe(machine);
    await expect(kindOf(driver.getSystem('node-9'))).resolves.toBe('notFound');
  });

  it('finds the machine with a UUID, not a machine that has this UUID as its name', async () => {
    const [first, second] = sampleMachines(2);
    if (first === undefined || second === undefined) throw new Error('two machines expected');
    const driver = new FakeDriver({ machines: [{ ...first, name: second.uuid }, second] });
    await expect(driver.getSystem(second.uuid)).resolves.toBe(second);
  });

  it('has the requested number of sample machines, each with its own UUID, name and MAC address', async () => {
    for (const count of [0, 1, 200]) {
      const driver = new FakeDriver({ machines: sampleMachines(count) });
      const list = await driver.listSystems();
      expect(new Set(list.map(({ uuid }) => uuid)).size).toBe(count);
      expect(new Set(list.map(({ name }) => name)).size).toBe(count);
    }
    expect(new Set(sampleMachines(300).map(({ interfaces }) => interfaces[0]?.mac)).size).toBe(300);
  });

  it('runs power actions as the power table says', async () => {
    const driver = new FakeDriver();
    const state = async (id: string): Promise<string> => (await driver.getSystem(id)).state;
    await driver.power(off, 'create');
    await expect(state(off)).resolves.toBe('running');
    await driver.power(off, 'shutdown');
    await expect(state(off)).resolves.toBe('shutoff');
    await expect(kindOf(driver.power(off, 'injectNmi'))).resolves.toBe('conflict');
    await driver.power(off, 'reset');
    await expect(state(off)).resolves.toBe('running');
    await driver.power(off, 'injectNmi');
    await driver.power(off, 'destroy');
    await driver.power(off, 'destroy');
    await expect(state(off)).resolves.toBe('shutoff');
  });

  it('boots a one-time override once, and then the disk of the machine', async () => {
    const driver = new FakeDriver();
    await driver.change(off, { boot: { enabled: 'once', target: 'cdrom' } });
    await driver.power(off, 'create');
    expect(driver.bootedFrom(off)).toBe('cdrom');
    expect((await driver.getSystem(off)).boot).toMatchObject({ enabled: 'disabled', target: 'none' });
    await driver.power(off, 'reset');
    expect(driver.bootedFrom(off)).toBe('hd');
  });

  it('boots a continuous override every time, and rejects a missing device', async () => {
    const driver = new FakeDriver();
    await driver.change(running, { boot: { target: 'network' } });
    for (const action of ['reset', 'reboot'] as const) {
      await driver.power(running, action);
      expect(driver.bootedFrom(running)).toBe('network');
    }
    await expect(kindOf(driver.change(running, { boot: { target: 'fd' } }))).resolves.toBe('invalid');
    await driver.change(running, { boot: { firmware: 'bios' } });
    expect((await driver.getSystem(running)).boot).toMatchObject({ target: 'network', firmware: 'bios' });
  });

  it('makes power-on, restart and the eject of another drive wait for a pending insert', async () => {
    const { driver, begun, finish } = slowDriver();
    const order: string[] = [];
    const recordOrder = (name: string) => () => void order.push(name);
    const insert = driver.media.insert(off, 'cdrom', image('http://images.test/a.iso')).then(recordOrder('insert'));
    await begun;
    const powerOn = driver.power(off, 'create').then(recordOrder('on'));
    const restart = driver.power(off, 'reset').then(recordOrder('restart'));
    const eject = driver.media.eject(off, 'usb').then(recordOrder('eject'));
    await driver.power(running, 'reset');
    expect(order).toEqual([]);
    expect((await driver.getSystem(off)).state).toBe('shutoff');
    finish();
    await Promise.all([insert, powerOn, restart, eject]);
    expect(order).toEqual(['insert', 'on', 'restart', 'eject']);
  });

  it('cancels a running insert, its download, and the power-on that waits for it, on eject', async () => {
    const { driver, begun } = slowDriver();
    const insert = driver.media.insert(off, 'cdrom', image('http://images.test/a.iso'));
    await begun;
    const outcomes = Promise.allSettled([insert, driver.power(off, 'create')]);
    const eject = driver.media.eject(off, 'cdrom');
    // A power-on that a client requests after the eject does not need the image.
    const powerOn = driver.power(off, 'reset');
    const why = 'inserting an image into machine node-1: an eject of the drive cancelled it';
    const unbooted = `starting machine node-1: the image that it waited for was not inserted: ${why}`;
    expect(await outcomes).toEqual([
      { status: 'rejected', reason: new DriverError('insertFailed', why) },
      { status: 'rejected', reason: new DriverError('insertFailed', unbooted) },
    ]);
    await eject;
    await powerOn;
    expect(await driver.getSystem(off)).toMatchObject({ state: 'running', media: emptyDrives });
  });

  it('cancels a waiting insert at once on abort or eject, and then fails the power-on that waited for it', async () => {
    const { driver, begun, finish } = slowDriver();
    const first = driver.media.insert(off, 'usb', image('http://images.test/a.iso'));
    await begun;
    const second = kindOf(driver.media.insert(off, 'cdrom', image('http://images.test/b.iso')));
    const controller = new AbortController();
    const third = driver.media.insert(off, 'floppy', image('http://images.test/c.img'), { signal: controller.signal });
    const powerOn = kindOf(driver.power(off, 'create'));
    controller.abort(new Error('gone'));
    const eject = driver.media.eject(off, 'cdrom');
    await expect(third).rejects.toThrow('gone');
    await expect(second).resolves.toBe('insertFailed');
    finish();
    await first;
    await expect(powerOn).resolves.toBe('insertFailed');
    await eject;
    const { state, media } = await driver.getSystem(off);
    expect([state, media.filter(({ inserted }) => inserted).map(({ device }) => device)]).toEqual(['shutoff', ['usb']]);
  });

  it('cancels a running insert on close, and accepts no later insert', async () => {
    const { driver, begun } = slowDriver();
    const insert = kindOf(driver.media.insert(off, 'cdrom', image('http://images.test/a.iso')));
    await begun;
    await driver.close();
    await expect(insert).resolves.toBe('unavailable');
    await expect(kindOf(driver.media.insert(off, 'cdrom', image('http://images.test/a.iso')))).resolves.toBe(
      'unavailable',
    );
  });

  it('fails a power-on and a restart that waited for a failed insert, with the reason of the insert', async () => {
    const { driver, begun, finish } = slowDriver();
    const insert = kindOf(driver.media.insert(off, 'cdrom', image('http://images.test/a.iso')));
    await begun;
    const waiting = Promise.allSettled((['create', 'reset', 'reboot'] as const).map((type) => driver.power(off, type)));
    finish(new DriverError('mediaNotFound', 'fetching http://images.test/a.iso: there is none'));
    await expect(insert).resolves.toBe('mediaNotFound');
    const why =
      'starting machine node-1: the image that it waited for was not inserted: fetching ' +
      'http://images.test/a.iso: there is none';
    for (const outcome of await waiting) {
      expect(outcome).toEqual({ status: 'rejected', reason: new DriverError('insertFailed', why) });
    }
    expect((await driver.getSystem(off)).state).toBe('shutoff');
    // A later request accepts the empty drive.
    await driver.power(off, 'create');
    expect((await driver.getSystem(off)).state).toBe('running');
  });

  it('hides the internal reason of a failed insert from clients', async () => {
    const { driver, begun, finish } = slowDriver();
    const insert = kindOf(driver.media.insert(off, 'cdrom', image('http://images.test/a.iso')));
    await begun;
    const powerOn = driver.power(off, 'create');
    finish(new DriverError('internal', 'opening /secret'));
    await expect(powerOn).rejects.toThrow(/^starting machine node-1: the image that it waited for was not inserted$/);
    await expect(insert).resolves.toBe('internal');
  });

  it('powers on after a failed insert if a client ejected a drive meanwhile, or if the drive already had another image', async () => {
    const { driver, begun, finish } = slowDriver();
    const insert = kindOf(driver.media.insert(off, 'cdrom', image('http://images.test/a.iso')));
    await begun;
    const eject = driver.media.eject(off, 'usb');
    const powerOn = driver.power(off, 'create');
    finish(new DriverError('mediaTooLarge', 'too large'));
    await expect(insert).resolves.toBe('mediaTooLarge');
    await Promise.all([eject, powerOn]);
    await driver.power(off, 'destroy');

    const other = slowDriver();
    const first = other.driver.media.insert(off, 'cdrom', image('http://images.test/a.iso'));
    await other.begun;
    const second = kindOf(other.driver.media.insert(off, 'cdrom', image('http://images.test/b.iso')));
    const on = other.driver.power(off, 'create');
    other.finish();
    await first;
    await expect(second).resolves.toBe('mediaInUse');
    await on;
    expect((await other.driver.getSystem(off)).state).toBe('running');
  });

  it('switches a machine off at once during a pending insert, and cancels the waiting power-on', async () => {
    const { driver, begun, finish } = slowDriver();
    const insert = driver.media.insert(off, 'cdrom', image('http://images.test/a.iso'));
    await begun;
    const powerOn = kindOf(driver.power(off, 'create'));
    await driver.power(off, 'destroy');
    await expect(powerOn).resolves.toBe('conflict');
    finish();
    await insert;
    expect((await driver.getSystem(off)).state).toBe('shutoff');
  });

  it('leaves the drive empty if the insert fails', async () => {
    const { driver, begun, finish } = slowDriver();
    const insert = kindOf(driver.media.insert(off, 'cdrom', image('http://images.test/a.iso')));
    await begun;
    finish(new DriverError('mediaTooLarge', 'too large'));
    await expect(insert).resolves.toBe('mediaTooLarge');
    expect((await driver.getSystem(off)).media).toEqual(emptyDrives);
  });

  it('reports every change, also one that no client requested, until the listener is removed', async () => {
    const driver = new FakeDriver({ fetchImage: () => Promise.resolve() });
    const reported: string[] = [];
    const unsubscribe = driver.onChange(({ kind, name }) => reported.push(`${name} ${kind}`));
    await driver.power(off, 'create');
    await driver.power(off, 'reset');
    await driver.media.insert(off, 'cdrom', image('http://images.test/a.iso'));
    await driver.change(off, { indicator: 'blinking' });
    await driver.change(off, { indicator: 'blinking' });
    const machine = await driver.getSystem(off);
    driver.define({ ...machine, state: 'paused' });
    driver.define({ ...machine, state: 'running' });
    driver.define({ ...machine, state: 'crashed' });
    await driver.power(off, 'destroy');
    await driver.power(off, 'destroy');
    driver.undefine(off);
    driver.define(machine);
    unsubscribe();
    driver.undefine(off);
    expect(reported).toEqual(
      [
        'started',
        'rebooted',
        'media',
        'changed',
        'paused',
        'resumed',
        'crashed',
        'stopped',
        'undefined',
        'defined',
      ].map((kind) => `node-1 ${kind}`),
    );
  });
});

describe('the fake driver with an image server', () => {
  let server: Server;
  let base: string;
  const seen: string[] = [];

  beforeEach(async () => {
    seen.length = 0;
    server = createServer((request, response) => {
      seen.push(`${request.method ?? ''} ${request.url ?? ''} ${request.headers.authorization ?? '-'}`);
      const path = new URL(request.url ?? '/', 'http://server.test').pathname;
      if (path === '/moved.iso') response.writeHead(302, { Location: '/disc%20one.iso' }).end();
      else if (path === '/loop.iso') response.writeHead(302, { Location: '/loop.iso' }).end();
      else if (path === '/secret.iso' && request.headers.authorization === undefined) response.writeHead(401).end();
      else if (path === '/gone.iso') response.writeHead(404).end();
      else if (path === '/broken.iso') response.writeHead(503).end();
      else response.writeHead(200, { 'Content-Length': 1 << 30 }).write('image');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('inserts an image with the name from its URL, rejects another image, and ejects the inserted one', async () => {
    const driver = new FakeDriver();
    await driver.media.insert(off, 'cdrom', image(`${base}/disc%20one.iso?token=t`));
    expect((await driver.getSystem(off)).media).toEqual([
      {
        ...emptyDrive('cdrom'),
        inserted: true,
        image: `${base}/disc%20one.iso?token=t`,
        imageName: 'disc one.iso',
        viaUri: true,
        transferMethod: 'upload',
      },
      ...emptyDrives.slice(1),
    ]);
    await driver.media.insert(off, 'cdrom', image(`${base}/disc%20one.iso?token=t`));
    expect(seen).toHaveLength(1);
    await expect(kindOf(driver.media.insert(off, 'cdrom', image(`${base}/other.iso`)))).resolves.toBe('mediaInUse');
    await driver.media.eject(off, 'cdrom');
    await driver.media.eject(off, 'cdrom');
    expect((await driver.getSystem(off)).media).toEqual(emptyDrives);
  });

  it.each<[string, DriverErrorKind]>([
    ['/gone.iso', 'mediaNotFound'],
    ['/secret.iso', 'mediaAuth'],
    ['/broken.iso', 'mediaUnreachable'],
    ['/loop.iso', 'mediaUnreachable'],
  ])('rejects %s with %s', async (path, kind) => {
    const driver = new FakeDriver();
    await expect(kindOf(driver.media.insert(off, 'cdrom', image(`${base}${path}`)))).resolves.toBe(kind);
    expect((await driver.getSystem(off)).media).toEqual(emptyDrives);
  });

  it('rejects an https URL of a server without TLS, and a URL at which no server listens', async () => {
    const driver = new FakeDriver();
    await expect(kindOf(driver.media.insert(off, 'cdrom', image(base.replace('http', 'https'))))).resolves.toBe(
      'mediaTls',
    );
    await expect(kindOf(driver.media.insert(off, 'cdrom', image('http://127.0.0.1:1/a.iso')))).resolves.toBe(
      'mediaUnreachable',
    );
  });

  it('follows a redirect, and also sends the credentials to a target with the same origin', async () => {
    const driver = new FakeDriver();
    await driver.media.insert(off, 'cdrom', image(`${base}/moved.iso`, { userName: 'u', password: 'p' }));
    const authorization = `Basic ${Buffer.from('u:p').toString('base64')}`;
    expect(seen).toEqual([`GET /moved.iso ${authorization}`, `GET /disc%20one.iso ${authorization}`]);
  });
});

it('the fake driver gives every interface of a running guest a valid address', async () => {
  const machines = sampleMachines(1).map((machine) => ({
    ...machine,
    state: 'running' as const,
    interfaces: machine.interfaces.flatMap((card) =>
      ['52:54:00:00:00:01', '52:54:00:00:00:ff'].map((mac) => ({ ...card, mac })),
    ),
  }));
  const facts = await new FakeDriver({ machines }).guestNetwork.facts(off);
  const addresses = [...facts.values()].flatMap(({ ipv4 }) => ipv4.map(({ address }) => isIPv4(address)));
  expect(addresses).toEqual([true, true]);
});
