/** Contract, machines: every machine of the host is a system and a manager. */
import { describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { sampleMachines } from '../../src/drivers/fake/sample-machines.js';
import { serveDriver } from './spec-daemon.js';

describe('machines of the host', () => {
  it.each([0, 1, 200])(
    'RF-10 Members: each machine is one system and one manager. Both have the UUID of the machine',
    async (count) => {
      const machines = sampleMachines(count);
      const service = await serveDriver(new FakeDriver({ machines }));
      try {
        for (const collection of ['Systems', 'Managers']) {
          const body = await service.get(`/redfish/v1/${collection}`);
          expect(body['Members@odata.count']).toBe(count);
          const expected = machines.map(({ uuid }) => ({ '@odata.id': `/redfish/v1/${collection}/${uuid}` }));
          expect(body['Members']).toEqual(collection === 'Systems' ? expected : expected.toReversed());
        }
        for (const { uuid } of machines) {
          expect((await service.get(`/redfish/v1/Systems/${uuid}`))['UUID']).toBe(uuid);
          expect((await service.get(`/redfish/v1/Managers/${uuid}`))['UUID']).toBe(uuid);
        }
      } finally {
        await service.stop();
      }
    },
  );

  it('RF-11 Changes: a machine appears when it is defined and disappears when it is undefined', async () => {
    const [first, second] = sampleMachines(2);
    if (first === undefined || second === undefined) throw new Error('two machines expected');
    const driver = new FakeDriver({ machines: [first] });
    const service = await serveDriver(driver);
    try {
      expect((await service.get('/redfish/v1/Systems'))['Members@odata.count']).toBe(1);
      // libvirt allows all these characters in names.
      driver.define({ ...second, name: 'web 1/\u00e4?%' });
      expect((await service.get('/redfish/v1/Systems'))['Members@odata.count']).toBe(2);
      const byName = await service.get(`/redfish/v1/Systems/${encodeURIComponent('web 1/\u00e4?%')}`);
      expect(byName).toEqual(await service.get(`/redfish/v1/Systems/${second.uuid}`));
      expect(byName['Name']).toBe('web 1/\u00e4?%');
      driver.undefine(second.uuid);
      expect((await service.get('/redfish/v1/Systems'))['Members']).toEqual([
        { '@odata.id': `/redfish/v1/Systems/${first.uuid}` },
      ]);
    } finally {
      await service.stop();
    }
  });
});
