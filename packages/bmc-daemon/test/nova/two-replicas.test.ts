/**
 * Tests two replicas with a real Nova and Glance and a shared store. One replica is killed during an insert, and
 * again during a boot.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';
import { daemonFixture } from '../daemon/fixture.js';
import { waitFor, type DaemonProcess } from '../daemon/process.js';
import { describeLab, labFile, openOwner, withLab, type LabOwner } from './lab.js';
import { iso, machineAt, startImages, storedImages, type Images } from './media-lab.js';

withLab();

describeLab('two replicas that serve a cloud', () => {
  const { at, start } = daemonFixture();
  let owner: LabOwner;
  let images: Images;
  let redis: PrivateRedis;
  beforeAll(() => {
    owner = openOwner();
  });
  afterAll(() => owner.session.close());
  beforeEach(async () => {
    images = await startImages();
    images.contents.set('/boot.iso', iso);
    redis = await startRedis();
  });
  afterEach(async () => {
    images.close();
    await redis.stop();
  });

  const serve = (name: string): DaemonProcess =>
    start(['--os-cloud', 'lab', '-i', '127.0.0.1', '-p', '0'], {
      env: {
        ...{ OS_CLIENT_CONFIG_FILE: labFile(), EMULATOR_SHARED_STORE: redis.url, STATE_DIRECTORY: at(name) },
        EMULATOR_TASK_AFTER_SECONDS: '600',
      },
    });
  const untilImages = (count: number) =>
    waitFor(
      async () => ((await storedImages(owner)).length === count ? true : undefined),
      () => `Glance never has ${count} images`,
    );

  it('let a client repeat an insert at the other replica after one was killed, and complete a boot after a kill', async () => {
    const doomed = serve('a');
    const [first, second] = await Promise.all([doomed.address(), serve('b').address()]);
    const image = `${images.url}/boot.iso`;
    const half = new Promise<void>((resolve) => {
      images.onHalf = () => resolve();
    });
    const lost = expect(machineAt(first, 'lab-2').insert(image)).rejects.toThrow();
    await half;
    images.onHalf = undefined;
    await doomed.dispose();
    await lost;
    const machine = machineAt(second, 'lab-2');
    expect((await machine.insert(image)).status).toBe(204);
    expect(await machine.drive()).toMatchObject({ Inserted: true, Image: image });
    // The killed replica deletes its partial image when it starts again.
    const next = serve('a');
    const other = machineAt(await next.address(), 'lab-2');
    await untilImages(1);

    expect((await other.setBoot({ BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' })).status).toBe(
      200,
    );
    const boot = expect(other.reset('ForceRestart')).rejects.toThrow();
    await waitFor(
      async () => ((await owner.server('lab-2')).task === null ? undefined : true),
      () => 'Nova does not boot the image',
    );
    await next.dispose();
    await boot;
    await owner.act('lab-2', undefined, 'rescued');
    expect(await machine.boot()).toEqual(['None', 'Disabled']);
    expect((await machine.reset('ForceOff')).status).toBe(204);
    expect((await owner.server('lab-2')).vmState).toBe('stopped');
    expect((await machine.eject()).status).toBe(204);
    expect((await machine.reset('On')).status).toBe(204);
    await owner.act('lab-2', undefined, 'active');
    await untilImages(0);
  });
});
