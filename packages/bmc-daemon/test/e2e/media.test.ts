import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { guestImage } from '../harness/guest-image.js';
import { fault, property, type Answer } from './bmc.js';
import { becomes, Lab, type Guest } from './lab.js';
import { describeEndToEnd } from './prerequisites.js';

const disk = 'RACKLESS-DISK label=DISK platform=pc';
const iso = 'RACKLESS-ISO label=CD platform=pc';
const empty = { inserted: false, image: null };

describeEndToEnd('images over HTTP', () => {
  let lab: Lab;
  let file: string;
  let guest: Guest;

  beforeAll(async () => {
    // An insert from a slow image server becomes a task after 0.3 s.
    lab = await Lab.start({
      settings: ['EMULATOR_TASK_AFTER_SECONDS = 0.3', 'EMULATOR_VMEDIA_MAX_IMAGE_GIB = 0.01'],
    });
    file = await guestImage({ kind: 'iso', system: 'grub', label: 'CD' });
    guest = await lab.guest();
  });
  afterAll(() => lab.stop());

  /** Returns the status of each answer, and the current state of the task that the answer describes. */
  const tasks = async (...answers: readonly Answer[]): Promise<readonly unknown[]> =>
    await Promise.all(
      answers.map(async ({ status, body }) => [
        status,
        property(await lab.bmc.get(String(property(body, '@odata.id'))), 'TaskState'),
      ]),
    );

  it('delay a power-on until their download ends; the machine then starts without another request', async () => {
    const { url, held } = await lab.images.publishHeld('slow.iso', file);
    const insert = await guest.tryInsert(url);
    await guest.setBoot({ target: 'Cd', enabled: 'Once' });
    const on = await guest.tryReset('On');
    expect(await tasks(insert, on)).toEqual([
      [202, 'Running'],
      [202, 'Running'],
    ]);
    expect([await guest.state(), await guest.drive(), guest.events()]).toEqual(['shut off', empty, []]);
    (await held).finish();
    expect([(await lab.bmc.finish(insert)).status, (await lab.bmc.finish(on)).status]).toEqual([204, 204]);
    expect(await tasks(insert, on)).toEqual([
      [202, 'Completed'],
      [202, 'Completed'],
    ]);
    expect(await guest.nextEvent()).toBe(iso);
    expect(await guest.drive()).toEqual({ inserted: true, image: url });
    await guest.eject();
    expect(await lab.volumes()).toEqual([]);
  });

  it('delay a restart until their download ends', async () => {
    await guest.reset('ForceRestart');
    expect(await guest.nextEvent()).toBe(disk);
    // The guest echoes what is typed, so the typed text must not contain RACKLESS-alive.
    await guest.type('set rest=LESS-alive');
    const { url, held } = await lab.images.publishHeld('slow.iso', file);
    await guest.tryInsert(url);
    await guest.setBoot({ target: 'Cd', enabled: 'Once' });
    const restart = await guest.tryReset('ForceRestart');
    expect(await tasks(restart)).toEqual([[202, 'Running']]);
    await guest.type('echo RACK$rest');
    expect(await guest.nextEvent()).toBe('RACKLESS-alive');
    (await held).finish();
    expect((await lab.bmc.finish(restart)).status).toBe(204);
    expect(await guest.nextEvent()).toBe(iso);
    await guest.reset('ForceOff');
    await guest.eject();
  });

  it('are not downloaded further after an eject, which leaves an empty drive and no volume', async () => {
    const { url, held } = await lab.images.publishHeld('slow.iso', file);
    const insert = await guest.tryInsert(url);
    expect(await tasks(insert)).toEqual([[202, 'Running']]);
    const { gone } = await held;
    await guest.eject();
    await gone;
    const { status, body } = await lab.bmc.finish(insert);
    expect([status, fault(body).key]).toEqual([409, 'ResourceInUse']);
    await becomes(async () => [await guest.drive(), await lab.volumes()], [empty, []]);
  });

  it('leave an empty drive and no volume if their server aborts, and the task reports the failure', async () => {
    const definition = await guest.definition();
    const { url, held } = await lab.images.publishHeld('half.iso', file);
    const insert = await guest.tryInsert(url);
    expect(insert.status).toBe(202);
    (await held).drop();
    const { status, body } = await lab.bmc.finish(insert);
    expect([status, fault(body).key]).toEqual([502, 'CouldNotEstablishConnection']);
    expect(fault(body).text).toMatch(/half\.iso: the server closed the connection\.$/);
    expect(await tasks(insert)).toEqual([[202, 'Exception']]);
    expect([await guest.drive(), await lab.volumes()]).toEqual([empty, []]);
    expect(await guest.definition()).toBe(definition);
    // The next attempt succeeds.
    await guest.insert(await lab.images.publish('half.iso', file));
    await guest.eject();
  });

  it('are downloaded once for two machines, and removed after the last eject', async () => {
    const other = await lab.guest();
    const url = await lab.images.publish('shared.iso', file);
    await Promise.all([guest.insert(url), other.insert(url)]);
    expect(lab.images.downloads('shared.iso')).toBe(1);
    await guest.eject();
    expect([await other.drive(), (await lab.volumes()).length]).toEqual([{ inserted: true, image: url }, 1]);
    await other.eject();
    expect(await lab.volumes()).toEqual([]);
  });

  it('fail with a different error for each of five causes', async () => {
    const unreachable = new URL(lab.images.url('any.iso'));
    unreachable.port = '1'; // tcpmux: no server listens there.
    const large = await lab.images.publish('large.iso', await guestImage({ kind: 'iso', system: 'linux' }));
    const answers: unknown[] = [];
    for (const url of [lab.images.url('none.iso'), unreachable.href, large, 'ftp://127.0.0.1/any.iso']) {
      const { status, body } = await lab.bmc.finish(await guest.tryInsert(url));
      answers.push([status, fault(body).key]);
    }
    expect(answers).toEqual([
      [400, 'ResourceMissingAtURI'],
      [502, 'CouldNotEstablishConnection'],
      [400, 'ActionParameterValueConflict'],
      [400, 'SourceDoesNotSupportProtocol'],
    ]);
    const path = `${guest.drivePath}/Actions/VirtualMedia.InsertMedia`;
    const missing = await lab.bmc.send('POST', path, { Inserted: true });
    expect([missing.status, fault(missing.body).key]).toEqual([400, 'ActionParameterMissing']);
    expect([await guest.drive(), await lab.volumes()]).toEqual([empty, []]);
  });

  it('leave nothing after the restart of a daemon that was killed during the download, and can then be inserted', async () => {
    const { url, held } = await lab.images.publishHeld('killed.iso', file);
    expect((await guest.tryInsert(url)).status).toBe(202);
    await held;
    await becomes(async () => (await lab.volumes()).length, 1);
    await lab.killDaemon();
    await lab.startDaemon();
    await becomes(() => lab.volumes(), []);
    expect(await guest.drive()).toEqual(empty);
    await guest.insert(await lab.images.publish('killed.iso', file));
    expect((await guest.drive()).inserted).toBe(true);
    await guest.eject();
  });
});
