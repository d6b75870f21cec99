import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { property } from './bmc.js';
import { becomes, Lab, type Guest } from './lab.js';
import { describeEndToEnd } from './prerequisites.js';

const mib = 1024 ** 2;
const linux = /RACKLESS-DISK .*linux/;

describeEndToEnd('volumes over Redfish', () => {
  let lab: Lab;
  let guest: Guest;
  let volumes: string;

  beforeAll(async () => {
    lab = await Lab.start();
    guest = await lab.guest({ system: 'linux' });
    volumes = `${guest.path}/Storage/virtio/Volumes`;
  });
  afterAll(() => lab.stop());

  const create = async (body: object): Promise<string> => {
    const answer = await lab.bmc.send('POST', volumes, body);
    expect([answer.status, property(answer.body, 'Status', 'State')]).toEqual([201, 'Enabled']);
    return answer.headers.get('location') ?? '';
  };
  /**
   * Returns the size of a disk in sectors as the guest sees it; `none` if the disk does not exist.
   */
  const sectors = async (disk: string): Promise<string> => {
    // The command splits the word, so that its echo does not match the expected output.
    await guest.type(`echo RACK''LESS-SIZE $(cat /sys/block/${disk}/size || echo none)`);
    // The guest also reports its empty CD drive, soon after it has booted.
    for (;;) {
      const [word, size = ''] = (await guest.nextEvent()).split(' ');
      if (word === 'RACKLESS-SIZE') return size;
    }
  };
  const members = async (): Promise<unknown> => property(await lab.bmc.get(volumes), 'Members@odata.count');

  it('are visible to the guest, at once if it runs, otherwise after its start, until they are deleted', async () => {
    const definition = await guest.definition();
    const fixed = await create({ CapacityBytes: 8 * mib, Name: 'before', ProvisioningPolicy: 'Fixed' });
    await guest.reset('On');
    expect(await guest.nextEvent()).toMatch(linux);
    expect(await sectors('vdb')).toBe(String((8 * mib) / 512));

    const thin = await create({ CapacityBytes: 24 * mib, Name: 'while it runs' });
    expect([fixed, thin]).toEqual([`${volumes}/vdb`, `${volumes}/vdc`]);
    expect(await lab.bmc.get(thin)).toMatchObject({ Name: 'while it runs', CapacityBytes: 24 * mib });
    await becomes(() => sectors('vdc'), String((24 * mib) / 512));
    await guest.type("dd if=/dev/urandom of=/dev/vdc bs=1M count=24 && sync && echo RACK''LESS-WRITTEN");
    await guest.waitFor('RACKLESS-WRITTEN');
    const made = (await lab.volumes()).filter((name) => name.startsWith(`rackless-volume-${guest.uuid}-`));
    expect(made.map((name) => name.split('.').at(-1)).toSorted()).toEqual(['img', 'qcow2']);

    // Deletes one volume while the guest runs, and the other volume while the guest is off.
    expect((await lab.bmc.finish(await lab.bmc.send('DELETE', thin))).status).toBe(204);
    await becomes(() => sectors('vdc'), 'none');
    await guest.reset('ForceOff');
    expect((await lab.bmc.finish(await lab.bmc.send('DELETE', fixed))).status).toBe(204);
    expect([await members(), await lab.volumes(), await guest.definition()]).toEqual([1, [], definition]);
  });
});
