import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { type Hypervisor, IpAddrType, NetworkXmlFlags } from '../../src/index.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { virsh } from '../harness/virsh.js';

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
withHost('qemu', (host) => void ({ daemon, hypervisor } = host));

// These tests start no network. A started network creates a bridge on the host, because the private daemon
// shares the network of the host.
describe('a stopped network', () => {
  it('has the same XML as in virsh', async () => {
    const network = await hypervisor.networkDefineXml(
      `<network><name>idle</name><bridge name='rlidle0'/><ip address='192.0.2.1' netmask='255.255.255.0'/></network>`,
    );
    expect((await network.getXmlDesc(NetworkXmlFlags.INACTIVE)).trim()).toBe(
      await virsh(daemon, 'net-dumpxml', '--inactive', 'idle'),
    );
    await network.undefine();
  });

  it('returns the DHCP leases, all or those of a MAC address', async () => {
    const network = await hypervisor.networkDefineXml(
      `<network><name>leased</name><bridge name='rlleas0'/>
        <ip address='192.0.2.1' netmask='255.255.255.0'><dhcp><range start='192.0.2.2' end='192.0.2.9'/></dhcp></ip>
      </network>`,
    );
    // libvirtd reads the leases from the network's status file, which only a running dnsmasq would write.
    const directory = join(daemon.dir, 'lib', 'dnsmasq');
    await mkdir(directory, { recursive: true });
    const lease = (last: number): object => ({
      'ip-address': `192.0.2.${last}`,
      'mac-address': `52:54:00:00:00:0${last}`,
      hostname: `guest-${last}`,
      'client-id': `01:52:54:00:00:00:0${last}`,
      'expiry-time': 4_102_444_800, // in 2100, because libvirtd omits expired leases
    });
    await writeFile(join(directory, 'rlleas0.status'), JSON.stringify([lease(2), lease(3)]));

    const expected = (last: number): object => ({
      iface: 'rlleas0',
      expiryTimeSeconds: 4_102_444_800,
      type: IpAddrType.IPV4,
      mac: `52:54:00:00:00:0${last}`,
      iaid: null,
      address: `192.0.2.${last}`,
      prefix: 24,
      hostname: `guest-${last}`,
      clientId: `01:52:54:00:00:00:0${last}`,
    });
    expect(await network.getDhcpLeases()).toEqual([expected(2), expected(3)]);
    expect(await network.getDhcpLeases('52:54:00:00:00:03')).toEqual([expected(3)]);
    expect(await network.getDhcpLeases('52:54:00:00:00:09')).toEqual([]);
    await network.undefine();
  });
});
