/** Tests virtual media and boot override with a real Nova and Glance. */
import { writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { daemonFixture } from '../daemon/fixture.js';
import { waitFor, type DaemonProcess } from '../daemon/process.js';
import { describeLab, labCloud, labFile, openOwner, withLab, type LabOwner } from './lab.js';
import { iso, machineAt, PRINTED, startImages, storedImages, untilPrinted, type Images } from './media-lab.js';
import { answerWith, startRelay, type Relay } from './relay.js';

withLab();

describeLab('a daemon that serves virtual media in a cloud', () => {
  const { at, start } = daemonFixture();
  let owner: LabOwner;
  let images: Images;
  let relay: Relay | undefined;
  beforeAll(() => {
    owner = openOwner();
  });
  afterAll(() => owner.session.close());
  beforeEach(async () => {
    images = await startImages();
    images.contents.set('/boot.iso', iso);
  });
  afterEach(async () => {
    images.close();
    await relay?.down();
    relay = undefined;
  });

  /**
   * Starts a daemon.
   * @param state name of its state folder.
   * @param file its clouds.yaml.
   * @param variables its further environment variables.
   */
  const serve = (state = 'state', file = labFile(), variables: Readonly<Record<string, string>> = {}): DaemonProcess =>
    start(['--os-cloud', 'lab', '-i', '127.0.0.1', '-p', '0'], {
      env: {
        ...{ OS_CLIENT_CONFIG_FILE: file, EMULATOR_TASK_AFTER_SECONDS: '1', STATE_DIRECTORY: at(state) },
        ...variables,
      },
    });
  /** Starts a relay in front of the cloud, and a daemon that uses the cloud through this relay. */
  const serveRelayed = async (): Promise<{ readonly daemon: DaemonProcess; readonly relay: Relay }> => {
    const urlOf = async (service: 'compute' | 'image', path: string): Promise<string> => {
      const { text } = await owner.session.request({ service, method: 'GET', path });
      return (/"href": ?"(http:[^"]*?)\/?"/.exec(text)?.[1] ?? '').replace(/\/v2$/, '');
    };
    const started = await startRelay(labCloud(), {
      nova: await urlOf('compute', '/'),
      glance: await urlOf('image', '/versions'),
    });
    relay = started;
    writeFileSync(at('clouds.json'), started.clouds);
    return { daemon: serve('state', at('clouds.json')), relay: started };
  };
  /** Brings a server to a known state: active, without an image, and with its disk as boot device. */
  const cleanUp = async (url: string, name: string): Promise<void> => {
    const machine = machineAt(url, name);
    await machine.setBoot({ BootSourceOverrideTarget: 'Hdd', BootSourceOverrideEnabled: 'Continuous' });
    await machine.eject();
    expect((await machine.reset('ForceRestart')).status).toBe(204);
    await owner.act(name, undefined, 'active');
  };
  const cdOnce = { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' };
  const cdAlways = { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Continuous' };

  it('stores one private image for all servers, and deletes it after the last eject', async () => {
    const url = await serve().address();
    const [first, second] = [machineAt(url, 'lab-1'), machineAt(url, 'lab-2')];
    const image = `${images.url}/boot.iso`;
    expect((await Promise.all([first.insert(image), second.insert(image)])).map(({ status }) => status)).toEqual([
      204, 204,
    ]);
    expect((await first.insert(image)).status).toBe(204);
    expect((await first.insert(`${image}?other`)).status).toBe(409);
    expect(images.downloads).toEqual(['/boot.iso']);
    expect(await storedImages(owner)).toMatchObject([
      {
        name: expect.stringMatching(/^rackless-[0-9a-f]{16}-[0-9a-f]{16}\.iso$/),
        ...{ status: 'active', visibility: 'private', disk_format: 'iso', size: iso.length, rackless_url: image },
        ...{ hw_rescue_device: 'cdrom', hw_rescue_bus: 'sata' },
      },
    ]);
    expect(await second.drive()).toMatchObject({ Inserted: true, Image: image, ConnectedVia: 'URI' });
    expect((await first.eject()).status).toBe(204);
    expect(await storedImages(owner)).toHaveLength(1);
    expect((await second.eject()).status).toBe(204);
    expect(await storedImages(owner)).toEqual([]);
    expect(await second.drive()).toMatchObject({ Inserted: false, Image: null });
  });

  it('boots a server from the image once, and then from its disk', async () => {
    const url = await serve().address();
    const machine = machineAt(url, 'lab-1');
    await cleanUp(url, 'lab-1');
    await machine.insert(`${images.url}/boot.iso`);
    expect((await machine.setBoot(cdOnce)).status).toBe(200);
    expect(await machine.boot()).toEqual(['Cd', 'Once']);
    expect((await machine.reset('ForceRestart')).status).toBe(204);
    expect((await owner.server('lab-1')).vmState).toBe('rescued');
    await untilPrinted(owner, 'lab-1', PRINTED);
    expect(await machine.boot()).toEqual(['None', 'Disabled']);
    expect(await machine.drive()).toMatchObject({ Inserted: true });
    expect((await machine.reset('ForceRestart')).status).toBe(204);
    expect((await owner.server('lab-1')).vmState).toBe('active');
    await untilPrinted(owner, 'lab-1', 'rackless guest');
    expect(await machine.boot()).toEqual(['None', 'Disabled']);
    await cleanUp(url, 'lab-1');
  });

  it('boots a server from the image at each start and restart, and leaves the server off after a power-off', async () => {
    const url = await serve().address();
    const machine = machineAt(url, 'lab-2');
    await cleanUp(url, 'lab-2');
    await machine.insert(`${images.url}/boot.iso`);
    await machine.setBoot(cdAlways);
    for (const type of ['ForceOff', 'On', 'ForceRestart', 'GracefulRestart'] as const) {
      expect([type, (await machine.reset(type)).status]).toEqual([type, 204]);
      const expected = type === 'ForceOff' ? 'stopped' : 'rescued';
      expect([type, (await owner.server('lab-2')).vmState]).toEqual([type, expected]);
    }
    await untilPrinted(owner, 'lab-2', PRINTED);
    expect((await machine.reset('Nmi')).status).toBe(204);
    expect((await machine.reset('ForceOff')).status).toBe(204);
    expect([await machine.power(), (await owner.server('lab-2')).vmState]).toEqual(['Off', 'stopped']);
    await cleanUp(url, 'lab-2');
  });

  it('accepts an eject and another boot device while a server runs from the image; all daemons see both changes', async () => {
    const [one, two] = [serve('one'), serve('two')];
    const [first, second] = [machineAt(await one.address(), 'lab-1'), machineAt(await two.address(), 'lab-1')];
    await cleanUp(await one.address(), 'lab-1');
    await first.insert(`${images.url}/boot.iso`);
    await first.setBoot(cdAlways);
    expect(await second.boot()).toEqual(['Cd', 'Continuous']);
    expect((await second.reset('ForceRestart')).status).toBe(204);
    // From now on, Nova rejects changes of the server's metadata.
    expect((await first.setBoot({ BootSourceOverrideTarget: 'Hdd' })).status).toBe(200);
    expect(await first.boot()).toEqual(['Hdd', 'Continuous']);
    expect((await first.eject()).status).toBe(204);
    expect(await first.drive()).toMatchObject({ Inserted: false });
    expect((await owner.server('lab-1')).vmState).toBe('rescued');
    await one.dispose();
    await waitFor(
      async () => ((await second.drive())['Inserted'] === false ? true : undefined),
      () => 'the other daemon shows the image',
    );
    const again = machineAt(await serve('one').address(), 'lab-1');
    expect([await again.boot(), (await again.drive())['Inserted']]).toEqual([['Hdd', 'Continuous'], false]);
    expect((await again.reset('ForceRestart')).status).toBe(204);
    expect((await owner.server('lab-1')).vmState).toBe('active');
    await waitFor(
      async () => ((await storedImages(owner)).length === 0 ? true : undefined),
      () => 'the image was not deleted',
    );
  });

  it('boots a server by the image of EMULATOR_OS_IPXE_IMAGE, and keeps changes that clients make while it runs', async () => {
    const url = await serve('state', labFile(), { EMULATOR_OS_IPXE_IMAGE: 'network-boot' }).address();
    const machine = machineAt(url, 'lab-1');
    await cleanUp(url, 'lab-1');
    expect((await machine.setBoot({ ...cdOnce, BootSourceOverrideTarget: 'Pxe' })).status).toBe(200);
    const missing = await machine.reset('ForceRestart');
    expect([missing.status, JSON.stringify(missing.body)]).toEqual([
      409,
      expect.stringContaining("EMULATOR_OS_IPXE_IMAGE names the image 'network-boot', which does not exist"),
    ]);
    // This image prints a line on the serial port. It replaces iPXE, which prints only on the screen.
    const id = await owner.createImage('network-boot', { hw_rescue_device: 'cdrom', hw_rescue_bus: 'sata' }, iso);
    try {
      expect((await machine.reset('ForceRestart')).status).toBe(204);
      await untilPrinted(owner, 'lab-1', PRINTED);
      expect(await machine.boot()).toEqual(['None', 'Disabled']);
      // Nova now rejects changes of the server's metadata, and the drive has no image that could store them. So the
      // daemon creates a note: an image without content.
      expect((await machine.setBoot({ BootSourceOverrideTarget: 'Pxe' })).status).toBe(200);
      expect((await machine.setBoot(cdAlways)).status).toBe(200);
      expect((await machine.insert(`${images.url}/boot.iso`)).status).toBe(204);
      const again = machineAt(await serve('other').address(), 'lab-1');
      expect([await again.boot(), (await again.drive())['Inserted']]).toEqual([['Cd', 'Continuous'], true]);
      // Active: the image in the drive. Queued: the note with the changes.
      expect((await storedImages(owner)).map(({ status }) => status).sort()).toEqual(['active', 'queued']);
      expect((await machine.reset('ForceRestart')).status).toBe(204);
      expect((await owner.server('lab-1')).vmState).toBe('rescued');
      await waitFor(
        async () => ((await storedImages(owner)).length === 1 ? true : undefined),
        () => 'the image without content was not deleted',
      );
    } finally {
      await owner.session.request({ service: 'image', method: 'DELETE', path: `/v2/images/${id}` });
    }
    await cleanUp(url, 'lab-1');
  });

  it('boots a server whose disk is a volume, and deletes the image after the deletion of the server', async () => {
    const url = await serve().address();
    const { image } = await owner.server('lab-2');
    const disk = { boot_index: 0, uuid: image.id, source_type: 'image', destination_type: 'volume', volume_size: 1 };
    const id = await owner.create('on-a-volume', {
      imageRef: undefined,
      block_device_mapping_v2: [{ ...disk, delete_on_termination: true }],
    });
    const machine = machineAt(url, id);
    try {
      await machine.insert(`${images.url}/boot.iso`);
      await machine.setBoot(cdOnce);
      expect((await machine.reset('ForceRestart')).status).toBe(204);
      await untilPrinted(owner, id, PRINTED);
      expect((await machine.reset('ForceRestart')).status).toBe(204);
      await untilPrinted(owner, id, 'rackless guest');
    } finally {
      await owner.remove(id);
    }
    // The daemon deletes the image of a deleted server.
    await waitFor(
      async () => ((await storedImages(owner)).length === 0 ? true : undefined),
      () => 'the image was not deleted',
    );
  });

  it('rejects unusable images, and boot settings that Nova cannot change, with the reason', async () => {
    const url = await serve().address();
    const machine = machineAt(url, 'lab-1');
    images.contents.set('/disk.img', Buffer.alloc(100_000));
    const rejectionOf = async (answer: ReturnType<typeof machine.setBoot>) => {
      const { status, body } = await answer;
      return `${status} ${JSON.stringify(body)}`;
    };
    expect(await rejectionOf(machine.insert(`${images.url}/disk.img`))).toMatch(/^400 .*not an ISO 9660 image/);
    expect(await rejectionOf(machine.insert(`${images.url}/none.iso`))).toMatch(/^400 .*answered 404/);
    expect(await storedImages(owner)).toEqual([]);
    const why = 'Nova fixes the boot order, the boot mode and Secure Boot when it creates the server';
    for (const boot of [
      { BootSourceOverrideTarget: 'Pxe' },
      { BootSourceOverrideTarget: 'UefiHttp' },
      { BootSourceOverrideMode: 'UEFI' },
      { BootOrder: ['Hdd.vda'] },
      { HttpBootUri: 'http://127.0.0.1/' },
    ]) {
      expect(await rejectionOf(machine.setBoot(boot))).toMatch(new RegExp(`^400 .*${why}`));
    }
  });

  it('reports an image that Nova cannot boot, keeps the override, and ejects the image', async () => {
    const url = await serve().address();
    const machine = machineAt(url, 'lab-1');
    await cleanUp(url, 'lab-1');
    // The image also begins like a QCOW disk image, so Nova does not accept it, and the server gets the state
    // ERROR.
    const twofold = Buffer.from(iso);
    twofold.write('QFI\xfb', 0, 'latin1');
    twofold.writeUInt32BE(3, 4);
    images.contents.set('/twofold.iso', twofold);
    await machine.insert(`${images.url}/twofold.iso`);
    await machine.setBoot(cdOnce);
    const { status, body } = await machine.reset('ForceRestart');
    expect([status, JSON.stringify(body)]).toEqual([
      409,
      expect.stringMatching(/Booting server lab-1 from its virtual CD: .*is unacceptable/),
    ]);
    expect((await owner.server('lab-1')).vmState).not.toBe('rescued');
    expect(await machine.boot()).toEqual(['Cd', 'Once']);
    expect((await machine.eject()).status).toBe(204);
    await cleanUp(url, 'lab-1');
    expect(await machine.drive()).toMatchObject({ Inserted: false });
  });

  it("answers 503 with Glance's name to an insert while Glance is down; reads and power still work", async () => {
    const { daemon, relay: cloud } = await serveRelayed();
    const url = await daemon.address();
    const machine = machineAt(url, 'lab-2');
    cloud.fault = ({ url: path = '' }) => (path.startsWith('/glance/') ? answerWith(503, {}, 'down') : undefined);
    const { status, retryAfter, body } = await machine.insert(`${images.url}/boot.iso`);
    expect([status, retryAfter, JSON.stringify(body)]).toEqual([503, '5', expect.stringContaining('Glance')]);
    expect(await machine.drive()).toMatchObject({ Inserted: false });
    expect((await machine.reset('ForceRestart')).status).toBe(204);
    cloud.fault = () => undefined;
    expect((await machine.insert(`${images.url}/boot.iso`)).status).toBe(204);
    cloud.fault = ({ url: path = '' }) => (path.startsWith('/glance/') ? answerWith(503, {}, 'down') : undefined);
    // With an image in its drive, the server is readable and can be switched off, too.
    expect(await machine.drive()).toMatchObject({ Inserted: true });
    expect((await machine.reset('ForceOff')).status).toBe(204);
    cloud.fault = () => undefined;
    await cleanUp(url, 'lab-2');
  });

  it('deletes the partial image of a killed daemon at its start', async () => {
    const half = new Promise<void>((resolve) => {
      images.onHalf = () => resolve();
    });
    const killed = serve();
    const insert = machineAt(await killed.address(), 'lab-2').insert(`${images.url}/boot.iso`);
    const failed = expect(insert).rejects.toThrow();
    await half;
    expect(await storedImages(owner)).toHaveLength(1);
    await killed.dispose();
    await failed;
    const machine = machineAt(await serve().address(), 'lab-2');
    await waitFor(
      async () => ((await storedImages(owner)).length === 0 ? true : undefined),
      () => 'the partial image was not deleted',
    );
    expect(await machine.drive()).toMatchObject({ Inserted: false });
  });

  it.each([
    ['before the mark of the boot', /^PUT .*metadata/, 'dropped', 'rescued'],
    ['before the boot', /^POST .*action$/, 'dropped', 'rescued'],
    ['after the boot began', /^POST .*action$/, 'passed', 'active'],
  ] as const)(
    'boots the image of a one-time override exactly once if an earlier daemon was killed %s',
    async (_, request, fate, expected) => {
      const { daemon, relay: cloud } = await serveRelayed();
      const url = await daemon.address();
      const machine = machineAt(url, 'lab-2');
      await cleanUp(url, 'lab-2');
      await machine.insert(`${images.url}/boot.iso`);
      await machine.setBoot(cdOnce);
      let isKilled = false;
      cloud.fault = ({ method = '', url: path = '' }) => {
        if (isKilled || !request.test(`${method} ${path}`)) return undefined;
        isKilled = true;
        daemon.signal('SIGKILL');
        return fate === 'dropped' ? (response) => void response.destroy() : undefined;
      };
      await expect(machine.reset('ForceRestart')).rejects.toThrow();
      cloud.fault = () => undefined;
      const nextUrl = await serve().address();
      const next = machineAt(nextUrl, 'lab-2');
      await waitFor(
        async () => ((await owner.server('lab-2')).task === null ? true : undefined),
        () => 'lab-2 has a task',
      );
      expect((await next.reset('ForceRestart')).status).toBe(204);
      expect((await owner.server('lab-2')).vmState).toBe(expected);
      await cleanUp(nextUrl, 'lab-2');
    },
  );
});
