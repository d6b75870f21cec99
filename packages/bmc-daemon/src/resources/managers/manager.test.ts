import { describe, expect, it } from '@jest/globals';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import { product, vendor, version } from '../../version.js';
import { renderIdentity } from './manager.js';

describe('the identity of a management controller', () => {
  it("is the identity in the machine's SMBIOS data, or else the identity of this service", () => {
    expect(sampleMachines(2).map(({ sysinfo }) => renderIdentity(sysinfo))).toEqual([
      { Manufacturer: vendor, Model: product, FirmwareVersion: version },
      { Manufacturer: 'Example Servers', Model: 'ES-1000', FirmwareVersion: '1.4' },
    ]);
  });
});
