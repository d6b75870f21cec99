import { describe, expect, it } from '@jest/globals';
import { q35Xml, unusualXml } from '../../../../../test/fixtures/domain-xml.js';
import { bootableDevices } from '../os/boot-order.js';
import { devicePath } from './device-path.js';
import { readDomain } from '../domain.js';

function paths(xml: string): Readonly<Record<string, string | null>> {
  const { devices } = readDomain(xml);
  return Object.fromEntries(bootableDevices(devices).map((device) => [device.key, devicePath(device, devices)]));
}

describe('devicePath', () => {
  it('follows addresses through controllers and bridges to the root', () => {
    expect(paths(q35Xml)).toEqual({
      'disk:vda': 'PciRoot(0x0)/Pci(0x2,0x0)/Pci(0x0,0x0)',
      'disk:sdb': 'PciRoot(0x0)/Pci(0x2,0x2)/Pci(0x0,0x0)/USB(0x0,0x0)/USB(0x1,0x0)',
      'disk:sda': 'PciRoot(0x0)/Pci(0x1F,0x2)/Sata(0x3,0xFFFF,0x0)',
      'disk:sdc': 'PciRoot(0x0)/Pci(0x4,0x0)/Scsi(0x2,0x5)',
      'interface:52:54:00:aa:bb:cc': 'PciRoot(0x0)/Pci(0x2,0x1)/Pci(0x0,0x0)/MAC(525400AABBCC,0x1)',
      'interface:52:54:00:aa:bb:cd': 'PciRoot(0x0)/Pci(0x5,0x0)/MAC(525400AABBCD,0x1)',
      'hostdev:0x0000/0x06/0x12/0x5': 'PciRoot(0x0)/Pci(0x6,0x0)',
    });
  });

  it('names IDE positions, parallel SCSI units and expander buses', () => {
    const xml = `<domain><name>n</name><devices>
      <disk device='cdrom'><target dev='hdd' bus='ide'/><address type='drive' bus='1' unit='1'/></disk>
      <disk><target dev='sda' bus='scsi'/><address type='drive' controller='0' unit='6'/></disk>
      <disk><target dev='vda' bus='virtio'/><address type='pci' bus='0x01' slot='0x00'/></disk>
      <controller type='ide' index='0'><address type='pci' bus='0x00' slot='0x01' function='0x1'/></controller>
      <controller type='scsi' index='0' model='lsilogic'><address type='pci' bus='0x00' slot='0x04'/></controller>
      <controller type='pci' index='1' model='pcie-expander-bus'><target busNr='254'/><address type='pci' slot='0x3'/></controller>
    </devices></domain>`;
    expect(paths(xml)).toEqual({
      'disk:hdd': 'PciRoot(0x0)/Pci(0x1,0x1)/Ata(Secondary,Slave,0x0)',
      'disk:sda': 'PciRoot(0x0)/Pci(0x4,0x0)/Scsi(0x6,0x0)',
      'disk:vda': 'PciRoot(0xFE)/Pci(0x0,0x0)',
    });
  });

  it('returns null without an address or the controller, with a loop of bridges, and outside of PCI', () => {
    expect(Object.values(paths(unusualXml))).toEqual([null, null, null, null]);
    const xml = `<domain><name>n</name><devices>
      <disk><target dev='sda' bus='sata'/><address type='drive' unit='0'/></disk>
      <disk><target dev='vda' bus='virtio'/><address type='pci' bus='0x01' slot='0x00'/></disk>
      <disk><target dev='vdb' bus='virtio'/><address type='virtio-mmio'/></disk>
      <disk><target dev='fda' bus='fdc'/><address type='drive'/></disk>
      <controller type='pci' index='1' model='pci-bridge'><address type='pci' bus='0x02' slot='0x01'/></controller>
      <controller type='pci' index='2' model='pci-bridge'><address type='pci' bus='0x01' slot='0x01'/></controller>
      <controller type='fdc' index='0'/>
    </devices></domain>`;
    expect(Object.values(paths(xml))).toEqual([null, null, null, null]);
  });
});
