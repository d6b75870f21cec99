import { describe, expect, it } from '@jest/globals';
import { type Hypervisor } from '../../src/index.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { codeOf } from '../harness/outcome.js';
import { virsh } from '../harness/virsh.js';

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
withHost('test', (host) => void ({ daemon, hypervisor } = host));

describe('a network interface of the host', () => {
  it('is found by name and by MAC address, with its XML', async () => {
    const found = await hypervisor.interfaceLookupByName('eth1');
    expect(found).toEqual({ name: 'eth1', mac: (await virsh(daemon, 'iface-mac', 'eth1')).trim() });
    expect(await hypervisor.interfaceLookupByMacString(found.mac)).toEqual(found);
    expect((await found.getXmlDesc()).trim()).toBe((await virsh(daemon, 'iface-dumpxml', 'eth1')).trim());
  });

  it('causes NO_INTERFACE if it does not exist', async () => {
    expect(await codeOf(hypervisor.interfaceLookupByName('absent0'))).toBe('NO_INTERFACE');
  });
});
