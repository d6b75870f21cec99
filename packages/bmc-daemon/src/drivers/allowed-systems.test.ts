import { describe, expect, it } from '@jest/globals';
import { allowSystems } from './allowed-systems.js';
import { DriverError } from './driver-error.js';
import { defineDriver } from './driver.js';
import { FakeDriver } from './fake/fake-driver.js';

/** Restricts the fake driver to its first two machines: by a UUID in capitals, and by a name. */
async function someAllowed() {
  const driver = new FakeDriver();
  const machines = await driver.listSystems();
  const [first, second, third] = machines;
  if (first === undefined || second === undefined || third === undefined) throw new Error('expected three machines');
  return { driver, first, second, third, restricted: allowSystems(driver, [first.uuid.toUpperCase(), second.name]) };
}

describe('a restricted driver', () => {
  it('lists and finds only the allowed machines, by UUID and by name', async () => {
    const { driver, restricted, first, second } = await someAllowed();
    const listed = await restricted.listSystems();
    expect(listed).toEqual([first, second]);
    // Returns the same object, so that callers can cache results.
    expect(await restricted.listSystems()).toBe(listed);
    expect(await restricted.getSystem(first.uuid)).toBe(await driver.getSystem(first.uuid));
    expect(await restricted.getSystem(first.name)).toBe(await driver.getSystem(first.uuid));
    expect(await restricted.getSystem(second.uuid.toUpperCase())).toBe(await driver.getSystem(second.uuid));
    expect(restricted.name).toBe(driver.name);
  });

  it('rejects other machines as if they did not exist', async () => {
    const { restricted, third } = await someAllowed();
    const image = { url: new URL('http://127.0.0.1/a.iso'), writeProtected: true, verifyCertificate: false };
    for (const id of [third.uuid, third.name]) {
      const attempts = [
        restricted.getSystem(id),
        restricted.power(id, 'destroy'),
        restricted.change(id, { boot: { target: 'cdrom' } }),
        restricted.change(id, { indicator: 'off' }),
        restricted.media?.insert(id, 'cdrom', image),
        restricted.media?.eject(id, 'cdrom'),
      ];
      for (const attempt of attempts)
        await expect(attempt).rejects.toEqual(new DriverError('notFound', `looking up machine ${id}: no such machine`));
    }
  });

  it('passes changes and power actions of an allowed machine to the driver', async () => {
    const { driver, restricted, first } = await someAllowed();
    await restricted.start();
    await restricted.ping();
    await restricted.change(first.name, { indicator: 'blinking' });
    await restricted.change(first.uuid, { boot: { target: 'cdrom', enabled: 'once' } });
    await restricted.power(first.name, 'destroy');
    const { indicator, boot, state } = await driver.getSystem(first.uuid);
    expect([indicator, boot.target, boot.enabled, state]).toEqual(['blinking', 'cdrom', 'once', 'shutoff']);
    await restricted.close();
  });

  it('reads the statistics of a single machine only if the machine is allowed', async () => {
    const { driver, first, third } = await someAllowed();
    const statistics = (uuid: string) => ({ uuid, run: '1', processors: {}, memory: {} });
    const single = defineDriver({
      name: 'single',
      listSystems: () => driver.listSystems(),
      getSystem: (id) => driver.getSystem(id),
      power: (id, action) => driver.power(id, action),
      statistics: {
        of: (uuid) => Promise.resolve({ ...statistics(uuid), disks: new Map(), interfaces: new Map() }),
      },
    });
    const allowed = allowSystems(single, [first.name]).statistics;
    if (allowed === undefined || 'all' in allowed) throw new Error('expected statistics of single machines');
    expect(await allowed.of(first.name)).toMatchObject({ uuid: first.uuid });
    await expect(allowed.of(third.uuid)).rejects.toMatchObject({ kind: 'notFound' });
  });

  it('reports changes of the allowed machines only', async () => {
    const { driver, restricted, first, third } = await someAllowed();
    const reported: string[] = [];
    const unsubscribe = restricted.onChange(({ kind, uuid }) => reported.push(`${kind} ${uuid}`));
    driver.define({ ...(await driver.getSystem(first.uuid)), state: 'paused' });
    driver.undefine(third.uuid);
    unsubscribe();
    driver.undefine(first.uuid);
    expect(reported).toEqual([`paused ${first.uuid}`]);
  });
});
