import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Hypervisor, type Domain } from '@rackless/libvirt';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startLibvirtd, type PrivateLibvirtd } from '../../../../../libvirt/test/harness/libvirtd.js';
import { DiskCapacity } from './disk-capacity.js';
import { readDomain } from '../xml/domain.js';

let libvirtd: PrivateLibvirtd;
let hypervisor: Hypervisor;
let domain: Domain;

beforeAll(async () => {
  libvirtd = await startLibvirtd({ driver: 'qemu' });
  hypervisor = await Hypervisor.open(libvirtd.uri);
  await writeFile(join(libvirtd.dir, 'tmp', 'a.img'), Buffer.alloc(65_536));
  const disk = (name: string, target: string): string =>
    `<disk type='file' device='disk'><driver name='qemu' type='raw'/>` +
    `<source file='${libvirtd.dir}/tmp/${name}'/><target dev='${target}' bus='virtio'/></disk>`;
  domain = await hypervisor.domainDefineXml(
    `<domain type='qemu'><name>d</name><memory unit='MiB'>16</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
     <devices>${disk('a.img', 'vda')}${disk('missing.img', 'vdb')}</devices></domain>`,
  );
});
afterAll(async () => {
  await hypervisor.close();
  await libvirtd.stop();
});

describe('DiskCapacity', () => {
  it('returns the known sizes, and the same object while they are unchanged', async () => {
    const capacity = new DiskCapacity(5_000);
    const { disks } = readDomain(await domain.getXmlDesc()).devices;
    const first = await capacity.read(domain, disks);
    expect([...first]).toEqual([['vda', 65_536]]);
    expect(await capacity.read(domain, disks)).toBe(first);
  });

  it('returns no sizes if the host does not answer in time', async () => {
    const capacity = new DiskCapacity(100);
    const { disks } = readDomain(await domain.getXmlDesc()).devices;
    libvirtd.signal('SIGSTOP');
    try {
      expect([...(await capacity.read(domain, disks))]).toEqual([]);
    } finally {
      libvirtd.signal('SIGCONT');
    }
  });
});
