import { describe, expect, it } from '@jest/globals';
import { readDomain } from '../xml/domain.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { cloneXml, withoutDaemon } from './clone-xml.js';

const uuid = '00000000-0000-5000-8000-000000000001';
const record = {
  uuid,
  group: null,
  complete: true,
  volumes: [],
  serialLog: '/log/copy-serial0.log',
  clonedFrom: 'x',
};
const identity = { name: 'copy', uuid, macs: ['52:54:00:00:00:01'], record };
const daemon = {
  indicator: 'lit',
  media: [
    {
      device: 'cdrom',
      drive: 'sdb',
      image: 'http://192.0.2.1/x.iso',
      imageName: 'x.iso',
      source: '/images/x.iso',
      writeProtected: true,
      driveReadonly: true,
    },
  ],
  boot: { enabled: 'continuous', target: 'hd', saved: { os: [], devices: [{ key: 'disk:sda', order: '2' }] } },
};
const source = `<domain type='kvm'>
  <name>golden</name>
  <uuid>11111111-1111-4111-8111-111111111111</uuid>
  <genid>22222222-2222-4222-8222-222222222222</genid>
  <metadata>
    <rackless:machine xmlns:rackless='https://rackless.dev/xmlns/bmc/1' version='2'>${JSON.stringify(daemon)}</rackless:machine>
    <other xmlns='https://example.com/other'>kept</other>
  </metadata>
  <memory unit='KiB'>1024</memory>
  <sysinfo type='smbios'><system>
    <entry name='serial'>7</entry>
    <entry name='uuid'>11111111-1111-4111-8111-111111111111</entry>
  </system></sysinfo>
  <os>
    <type arch='x86_64' machine='pc-q35-7.2'>hvm</type>
    <loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader>
    <nvram template='/usr/share/OVMF/OVMF_VARS_4M.fd'>/var/lib/libvirt/qemu/nvram/golden_VARS.fd</nvram>
  </os>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2'/>
      <source file='/images/golden.qcow2'/>
      <backingStore type='file'><format type='raw'/><source file='/images/base.img'/></backingStore>
      <target dev='sda' bus='scsi'/>
      <serial>old</serial>
      <boot order='1'/>
    </disk>
    <disk type='file' device='disk'>
      <source file='/images/shared.img'/>
      <target dev='sdc' bus='scsi'/>
      <shareable/>
    </disk>
    <disk type='file' device='cdrom'>
      <driver name='qemu' type='raw'/>
      <source file='/images/x.iso'/>
      <target dev='sdb' bus='sata'/>
      <readonly/>
    </disk>
    <interface type='network'>
      <mac address='52:54:00:99:99:99'/>
      <source network='default'/>
      <target dev='golden0'/>
    </interface>
    <serial type='pty'><log file='/log/golden.log' append='on'/></serial>
  </devices>
</domain>`;

describe('the definition of a clone', () => {
  const disk = { source: { type: 'file', path: '/images/copy.qcow2' }, format: 'qcow2' } as const;
  const clone = cloneXml(withoutDaemon(source), identity, [disk]);
  const domain = readDomain(clone);

  it('has its own identity everywhere', () => {
    expect(clone).not.toMatch(/golden|11111111|22222222|99:99:99/);
    expect(domain).toMatchObject({ name: 'copy', uuid });
    expect(domain.devices.interfaces).toMatchObject([{ mac: '52:54:00:00:00:01', source: 'default' }]);
    expect(clone).toContain(`<entry name='uuid'>${uuid}</entry>`);
    expect(clone).toContain(`<entry name='serial'>7</entry>`);
  });

  it("has copies of the machine's own disks, the same shared disk, and an empty CD drive", () => {
    expect(domain.devices.disks.map(({ target, source: { name } }) => [target, name])).toEqual([
      ['sda', '/images/copy.qcow2'],
      ['sdc', '/images/shared.img'],
      ['sdb', null],
    ]);
    expect(domain.devices.disks[0]?.serial).toMatch(/^[0-9a-f]{16}$/);
    expect(clone).not.toContain('backingStore');
  });

  it('has new UEFI variables from the same template, and its own log', () => {
    expect(domain.os.nvram).toEqual({ path: null, template: '/usr/share/OVMF/OVMF_VARS_4M.fd' });
    expect(clone).toContain(`<log file='/log/copy-serial0.log' append='on'/>`);
  });

  it("has the user's boot order and metadata, but no data of the daemon except a creation record of its own", () => {
    expect(domain.devices.disks[0]?.bootOrder).toBe(2);
    expect(readMetadata(clone)).toMatchObject({ indicator: null, boot: null, media: null, created: record });
    expect(clone).toContain(`<other xmlns='https://example.com/other'>kept</other>`);
  });

  it('has no own disk before the copies exist', () => {
    const bare = readDomain(cloneXml(withoutDaemon(source), identity, []));
    expect(bare.devices.disks.map(({ target }) => target)).toEqual(['sdc', 'sdb']);
  });
});
