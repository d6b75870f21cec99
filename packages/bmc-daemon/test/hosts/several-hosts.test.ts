/** Tests one driver for several hosts: real libvirtds with libvirt's test driver. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LabHost, startHosts, until, uuidOf, type LabDriver } from './hosts-lab.js';

let hosts: readonly LabHost[];
let lab: LabDriver;
const [first, second, twin, third] = [1, 2, 3, 4].map(uuidOf) as [string, string, string, string];

const host = (index: number): LabHost => {
  const found = hosts[index];
  if (found === undefined) throw new Error(`there is no host ${index}`);
  return found;
};

beforeAll(async () => {
  hosts = await Promise.all(['rack-1', 'rack-2', 'rack-3'].map((name) => LabHost.start(name)));
  lab = await startHosts(hosts);
  for (const each of hosts) await each.removeDefaultMachine();
  await host(0).define({ uuid: first, name: 'web' });
  await host(1).define({ uuid: second, name: 'db' });
  await host(1).define({ uuid: twin, name: 'twin' });
  await host(2).define({ uuid: third, name: 'twin' });
  await until('the machines', async () => (await lab.driver.listSystems()).length === 4);
});
afterAll(async () => {
  await lab.driver.close();
  await Promise.all(hosts.map((each) => each.stop()));
});

describe('a driver of several hosts', () => {
  it('lists the machines of all hosts, with their hosts', async () => {
    const list = await lab.driver.listSystems();
    expect(list.map(({ uuid, host: name }) => [uuid, name]).toSorted()).toEqual([
      [first, 'rack-1'],
      [second, 'rack-2'],
      [twin, 'rack-2'],
      [third, 'rack-3'],
    ]);
    // The driver returns the same object, so that callers can cache results.
    expect(await lab.driver.listSystems()).toBe(list);
  });

  it('finds machines by UUID and by name, and reads an unchanged machine as the same object', async () => {
    expect(await lab.driver.getSystem(second.toUpperCase())).toMatchObject({ name: 'db', host: 'rack-2' });
    expect(await lab.driver.getSystem('web')).toBe(await lab.driver.getSystem(first));
    await expect(lab.driver.getSystem('mail')).rejects.toMatchObject({
      kind: 'notFound',
      message: 'looking up machine mail: no such machine',
    });
  });

  it('rejects a name that machines of two hosts have, and names their UUIDs', async () => {
    for (const call of [lab.driver.getSystem('twin'), lab.driver.power('twin', 'create')]) {
      await expect(call).rejects.toMatchObject({
        kind: 'notFound',
        message: `looking up machine twin: several machines have this name, use a UUID: ${twin}, ${third}`,
      });
    }
  });

  it('finds a machine at once when another program has defined it', async () => {
    await host(2).define({ uuid: uuidOf(5), name: 'new' });
    expect(await lab.driver.getSystem('new')).toMatchObject({ uuid: uuidOf(5), host: 'rack-3' });
    await host(2).virsh('undefine', 'new');
    await expect(lab.driver.getSystem('new')).rejects.toMatchObject({ kind: 'notFound' });
  });

  it('changes a machine on its host', async () => {
    const basis = await lab.driver.getSystem(second);
    await lab.driver.change(second, { assetTag: 'shelf 2' }, { basis });
    expect((await lab.driver.getSystem(second)).assetTag).toBe('shelf 2');
    await lab.driver.power(second, 'create');
    expect(await host(1).virsh('domstate', 'db')).toContain('running');
    await lab.driver.power(second, 'destroy');
    await lab.driver.media?.eject(third, 'cdrom');
  });

  it('reports the changes of all hosts', async () => {
    await host(0).virsh('start', 'web');
    await host(2).virsh('start', 'twin');
    const started = (uuid: string): boolean =>
      lab.changes.some((change) => change.kind === 'started' && change.uuid === uuid);
    await until('both starts', () => Promise.resolve(started(first) && started(third)));
    expect(started(twin)).toBe(false);
    await host(0).virsh('destroy', 'web');
    await host(2).virsh('destroy', 'twin');
  });

  it('answers a ping, and reports its hosts', async () => {
    await lab.driver.ping();
    expect(lab.driver.name).toBe('libvirt hosts rack-1, rack-2, rack-3');
    expect(lab.driver.hosts?.list()).toEqual(hosts.map(({ name, uri }) => ({ name, uri })));
    expect(await lab.driver.hosts?.read('rack-2')).toMatchObject({
      reachable: true,
      facts: { hypervisor: { name: 'TEST' } },
    });
    await expect(lab.driver.hosts?.read('rack-9')).rejects.toMatchObject({ kind: 'notFound' });
  });
});
