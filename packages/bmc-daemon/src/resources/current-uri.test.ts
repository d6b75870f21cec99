import { describe, expect, it } from '@jest/globals';
import { chassisDriveId, currentUri } from './current-uri.js';

const machine = '5ac4fa6e-0000-4000-8000-000000000001';
const shelf = '48295861-2522-3561-6729-621118518810';
const own = { chassis: [] };
const shared = { chassis: [{ Id: 'shelf', UUID: shelf }] };

describe('the successor of a deprecated URI', () => {
  const system = `/redfish/v1/Systems/${machine}`;

  it('is below the chassis of the machine for a drive', () => {
    const drive = `${system}/Storage/virtio/Drives/vda`;
    expect(currentUri(drive, own)).toBe(`/redfish/v1/Chassis/${machine}/Drives/virtio-vda`);
    expect(currentUri(drive, shared)).toBe(`/redfish/v1/Chassis/${shelf}/Drives/${machine}-virtio-vda`);
    expect(chassisDriveId(machine, 'virtio', 'vda', own)).toBe('virtio-vda');
    expect(chassisDriveId(machine, 'virtio', 'vda', shared)).toBe(`${machine}-virtio-vda`);
    // Ids stay percent-encoded.
    expect(currentUri(`${system}/Storage/a%20b/Drives/%2F`, own)).toBe(
      `/redfish/v1/Chassis/${machine}/Drives/a%20b-%2F`,
    );
  });

  it('is below the system for the virtual media of a manager', () => {
    const manager = `/redfish/v1/Managers/${machine}`;
    for (const below of ['', '/Cd', '/Cd/Certificates']) {
      expect(currentUri(`${manager}/VirtualMedia${below}`, own)).toBe(`${system}/VirtualMedia${below}`);
    }
  });

  it('is the URI itself if it is not deprecated', () => {
    for (const uri of [
      '/redfish/v1/',
      system,
      `${system}/VirtualMedia/Cd`,
      `${system}/Storage/virtio`,
      `${system}/Storage/virtio/Volumes/vda`,
      `/redfish/v1/Managers/${machine}`,
      `/redfish/v1/Chassis/${machine}/Drives/virtio-vda`,
    ]) {
      expect(currentUri(uri, own)).toBe(uri);
    }
  });
});
