/** Tests machines that move between hosts or are on two hosts: two real libvirtds, migrations of real guests. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemStatus } from '../../src/resources/status.js';
import { LabHost, startHosts, until, uuidOf, type LabDriver } from './hosts-lab.js';

let left: LabHost;
let right: LabHost;
let lab: LabDriver;

beforeAll(async () => {
  [left, right] = await Promise.all([LabHost.start('left', 'qemu'), LabHost.start('right', 'qemu')]);
  lab = await startHosts([left, right]);
});
afterAll(async () => {
  await lab.driver.close();
  await Promise.all([left.stop(), right.stop()]);
});

const hostOf = async (uuid: string): Promise<unknown> => (await lab.driver.getSystem(uuid)).host;
const kinds = (uuid: string): readonly string[] =>
  lab.changes.filter((each) => each.uuid === uuid).map(({ kind }) => kind);
const statusOf = async (uuid: string) => systemStatus(await lab.driver.getSystem(uuid));

/**
 * Polls a machine for as long as `work` takes.
 * @returns the state and Health of all reads, such as `on "OK"`; `not listed once` if a list had the machine
 *   never or twice.
 */
async function statesDuring(uuid: string, work: () => Promise<void>): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  let isDone = false;
  const poll = async (): Promise<void> => {
    while (!isDone) {
      const [list, system] = await Promise.all([lab.driver.listSystems(), lab.driver.getSystem(uuid)]);
      if (list.filter((each) => each.uuid === uuid).length !== 1) seen.add('not listed once');
      seen.add(`${system.state === 'shutoff' ? 'off' : 'on'} ${JSON.stringify(systemStatus(system)['Health'])}`);
    }
  };
  const polling = poll();
  try {
    await work();
  } finally {
    isDone = true;
  }
  await polling;
  return seen;
}

const migrate = (name: string, ...flags: readonly string[]): Promise<string> =>
  left.virsh('migrate', name, right.libvirtd.daemon.uri, '--undefinesource', '--persistent', ...flags);

describe('a machine that leaves its host', () => {
  it('stays listed and on in a live migration, keeps its data, and is neither new nor removed', async () => {
    const uuid = uuidOf(1);
    await left.define({ uuid, name: 'guest' });
    await lab.driver.power(uuid, 'create');
    await lab.driver.change(uuid, { assetTag: 'shelf 1', indicator: 'blinking' });
    await until('the start', () => Promise.resolve(kinds(uuid).includes('started')));
    lab.changes.length = 0;
    const seen = await statesDuring(uuid, async () => {
      await migrate('guest', '--live', '--migrateuri', 'tcp://127.0.0.1');
      await until('the new host', async () => (await hostOf(uuid)) === 'right');
    });
    expect([...seen]).toEqual(['on "OK"']);
    expect(await lab.driver.getSystem('guest')).toMatchObject({ assetTag: 'shelf 1', indicator: 'blinking' });
    await lab.driver.power(uuid, 'destroy');
    await until('the power-off', () => Promise.resolve(kinds(uuid).includes('stopped')));
    // libvirt also reports that the definition has changed. The end of QEMU on the old host is no change of the
    // machine.
    expect(kinds(uuid).filter((kind) => kind !== 'changed')).toEqual(['moved', 'shuttingDown', 'stopped']);
    expect(lab.changes.find(({ kind }) => kind === 'moved')?.reason).toBe('from host left to host right');
    expect(await right.virsh('domstate', 'guest')).toContain('shut off');
  });

  it('rejects changes during its live migration, because they would be lost, and accepts them afterwards', async () => {
    const uuid = uuidOf(7);
    await left.define({ uuid, name: 'busy' });
    await lab.driver.power(uuid, 'create');
    await until('the start', () => Promise.resolve(kinds(uuid).includes('started')));
    const migration = migrate('busy', '--live', '--migrateuri', 'tcp://127.0.0.1', '--bandwidth', '1');
    const change = (): Promise<void> => lab.driver.change(uuid, { settings: { firmware: 'efi' } });
    let rejection: unknown;
    await until('the rejection', async () => {
      rejection = await change().catch((error: unknown) => error);
      return rejection !== undefined;
    });
    expect(rejection).toMatchObject({
      kind: 'unavailable',
      message: 'changing machine busy: it migrates from host left to host right',
    });
    await migration;
    await until('the new host', async () => (await hostOf(uuid)) === 'right');
    await until('the end of the migration', () => change().then(() => true, () => false)); // prettier-ignore
    expect((await lab.driver.getSystem(uuid)).firmware?.pending).toEqual({ firmware: 'efi' });
    await lab.driver.power(uuid, 'destroy');
  });

  it('stays on its old host if it is powered off during its live migration', async () => {
    const uuid = uuidOf(6);
    await left.define({ uuid, name: 'stays' });
    await lab.driver.power(uuid, 'create');
    await until('the start', () => Promise.resolve(kinds(uuid).includes('started')));
    lab.changes.length = 0;
    const flags = ['--live', '--migrateuri', 'tcp://127.0.0.1', '--bandwidth', '1'];
    const migration = migrate('stays', ...flags).then(
      () => 'complete',
      () => 'failed',
    );
    const hasArrived = async (): Promise<boolean> => (await right.virsh('list', '--all', '--name')).includes('stays');
    await until('the arrival', hasArrived);
    // The new host's QEMU stops, so that the migration cannot end before the power-off.
    const pid = await right.libvirtd.daemon.guestPid('stays');
    process.kill(pid, 'SIGSTOP');
    await lab.driver.power(uuid, 'destroy');
    process.kill(pid, 'SIGCONT');
    expect(await migration).toBe('failed');
    await until('the end', async () => !(await hasArrived()));
    await until('the power-off', () => Promise.resolve(kinds(uuid).includes('stopped')));
    expect(kinds(uuid).filter((kind) => kind !== 'changed' && kind !== 'shuttingDown')).toEqual(['stopped']);
    expect(await hostOf(uuid)).toBe('left');
  });

  it('stays the same machine in an offline migration', async () => {
    const uuid = uuidOf(2);
    await left.define({ uuid, name: 'offline' });
    await until('the machine', async () => (await hostOf(uuid)) === 'left');
    lab.changes.length = 0;
    const seen = await statesDuring(uuid, async () => {
      await migrate('offline', '--offline');
      await until('the new host', async () => (await hostOf(uuid)) === 'right');
    });
    expect([...seen]).toEqual(['off "OK"']);
    await until('the move', () => Promise.resolve(kinds(uuid).includes('moved')));
    expect(kinds(uuid)).not.toContain('undefined');
    expect(kinds(uuid)).not.toContain('defined');
  });

  it('stays the same machine if it is undefined first and then defined on the other host', async () => {
    const uuid = uuidOf(3);
    await left.define({ uuid, name: 'by-hand' });
    await until('the machine', () => Promise.resolve(kinds(uuid).includes('defined')));
    await lab.driver.getSystem(uuid);
    lab.changes.length = 0;
    await left.virsh('undefine', 'by-hand');
    await expect(lab.driver.getSystem(uuid)).rejects.toMatchObject({ kind: 'notFound' });
    await right.define({ uuid, name: 'by-hand' });
    expect(await hostOf(uuid)).toBe('right');
    await until('the move', () => Promise.resolve(kinds(uuid).includes('moved')));
    expect(kinds(uuid)).toEqual(['moved']);
  });

  it('is removed if no other host gets it', async () => {
    const uuid = uuidOf(4);
    await left.define({ uuid, name: 'removed' });
    await until('the machine', () => Promise.resolve(kinds(uuid).includes('defined')));
    await left.virsh('undefine', 'removed');
    await until('the removal', () => Promise.resolve(kinds(uuid).includes('undefined')));
    expect(kinds(uuid)).toEqual(['defined', 'undefined']);
  });
});

describe('a UUID that two hosts have', () => {
  const uuid = uuidOf(5);

  it('appears once, with a warning that names both hosts', async () => {
    await left.define({ uuid, name: 'copy', title: 'of left' });
    await until('the machine', async () => (await hostOf(uuid)) === 'left');
    await right.define({ uuid, name: 'copy', title: 'of right' });
    await until('the warning', async () => (await statusOf(uuid))['Health'] === 'Warning');
    expect((await lab.driver.listSystems()).filter((each) => each.uuid === uuid)).toHaveLength(1);
    expect(await statusOf(uuid)).toMatchObject({
      State: 'Enabled',
      Conditions: [
        { Message: expect.stringContaining('Hosts left and right have a machine with this UUID.') as unknown },
      ],
    });
    expect(await lab.driver.getSystem('copy')).toMatchObject({ title: 'of left' });
    expect(lab.messages).toContain(`hosts left and right have a machine copy with the same UUID ${uuid}`);
  });

  it('means the machine that runs', async () => {
    await right.virsh('start', 'copy');
    await until('the running copy', async () => (await hostOf(uuid)) === 'right');
    expect(await lab.driver.getSystem(uuid)).toMatchObject({ title: 'of right', state: 'running' });
    await lab.driver.power(uuid, 'destroy');
    expect(await right.virsh('domstate', 'copy')).toContain('shut off');
    // The host does not change, because neither copy runs: the machine stays where it was.
    expect(await hostOf(uuid)).toBe('right');
  });

  it('causes no warning as soon as only one host has it', async () => {
    await right.virsh('undefine', 'copy');
    await until('the machine on the other host', async () => (await hostOf(uuid)) === 'left');
    await until('no warning', async () => (await statusOf(uuid))['Health'] === 'OK');
    expect(kinds(uuid)).not.toContain('undefined');
  });
});
