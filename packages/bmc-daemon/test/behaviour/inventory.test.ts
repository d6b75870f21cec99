/** Inventory resources of a machine: their spellings, and components and machines that do not exist. */
import { expect, it } from '@jest/globals';
import { describeSpec } from '../spec/spec-daemon.js';

describeSpec('the inventory of a machine', (spec) => {
  it('returns 404 for components that the machine does not have', async () => {
    const self = `/redfish/v1/Systems/${spec().uuid}`;
    for (const path of [
      'Processors/CPU7',
      'Memory/DIMM9',
      'EthernetInterfaces/52:54:00:ff:ff:ff',
      'SimpleStorage/ide',
      'Storage/ide',
      'Storage/virtio/Controllers/ide',
      'Storage/virtio/Drives/vdz',
      'Storage/virtio/Volumes/vdz',
      'Storage/ide/Volumes',
    ]) {
      const answer = await spec().call('GET', `${self}/${path}`);
      expect([path, answer.status, ...spec().messageIds(answer)]).toEqual([path, 404, 'ResourceNotFound']);
    }
  });

  it('returns 404 for resources of an unknown machine', async () => {
    for (const path of ['Systems/x', 'Systems/x/Bios', 'Systems/x/Memory', 'Managers/x/VirtualMedia', 'Chassis/x']) {
      expect((await spec().call('GET', `/redfish/v1/${path}`)).status).toBe(404);
    }
  });

  it("accepts sushy-tools' spelling BIOS, and an upper-case MAC address", async () => {
    const self = `/redfish/v1/Systems/${spec().uuid}`;
    await expect(spec().get(`${self}/BIOS`)).resolves.toEqual(await spec().get(`${self}/Bios`));
    const path = `${self}/EthernetInterfaces/${spec().mac}`;
    await expect(spec().get(path.replace(spec().mac, spec().mac.toUpperCase()))).resolves.toEqual(
      await spec().get(path),
    );
  });

  it("is the same at the URI with the machine's name as at the URI with the UUID; its links contain the UUID", async () => {
    for (const path of ['', '/Processors', '/Memory/DIMM0', '/Storage/virtio/Drives/vda', '/VirtualMedia/Cd']) {
      const byUuid = await spec().get(`/redfish/v1/Systems/${spec().uuid}${path}`);
      await expect(spec().get(`/redfish/v1/Systems/${spec().name}${path}`)).resolves.toEqual(byUuid);
    }
  });
});
