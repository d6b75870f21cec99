import { describe, expect, it } from '@jest/globals';
import { ConnectListAllNetworksFlags, type Hypervisor } from '../../src/index.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { codeOf } from '../harness/outcome.js';
import { virsh } from '../harness/virsh.js';

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
withHost('test', (host) => void ({ daemon, hypervisor } = host));

const networkXml = (name: string): string =>
  `<network><name>${name}</name><bridge name='rl${name}'/><ip address='192.0.2.1' netmask='255.255.255.0'/></network>`;

describe('a network', () => {
  it('is defined, started, listed, stopped and removed', async () => {
    const network = await hypervisor.networkDefineXml(networkXml('lab'));
    expect(network).toEqual({ name: 'lab', uuid: await virsh(daemon, 'net-uuid', 'lab') });
    expect([await network.isActive(), await network.isPersistent()]).toEqual([false, true]);
    await network.create();
    expect(await network.isActive()).toBe(true);
    expect((await hypervisor.listAllNetworks()).map(({ name }) => name).sort()).toEqual(['default', 'lab']);
    expect(await hypervisor.listAllNetworks(ConnectListAllNetworksFlags.INACTIVE)).toEqual([]);
    expect(await network.getBridgeName()).toBe('rllab');
    expect((await network.getXmlDesc()).trim()).toBe(await virsh(daemon, 'net-dumpxml', 'lab'));
    await network.setAutostart(true);
    expect(await network.getAutostart()).toBe(true);
    await network.setAutostart(false);
    await network.destroy();
    expect(await network.isActive()).toBe(false);
    await network.undefine();
    expect(await codeOf(network.getXmlDesc())).toBe('NO_NETWORK');
  });

  it('is found by name and UUID, or the lookup fails with NO_NETWORK', async () => {
    const network = await hypervisor.networkLookupByName('default');
    expect(await hypervisor.networkLookupByUuid(network.uuid)).toEqual(network);
    expect(await codeOf(hypervisor.networkLookupByName('absent'))).toBe('NO_NETWORK');
    expect(await codeOf(hypervisor.networkLookupByUuid('00000000-0000-0000-0000-000000000000'))).toBe('NO_NETWORK');
  });

  it('is transient if it is started without a definition, and disappears when it stops', async () => {
    const network = await hypervisor.networkCreateXml(networkXml('short'));
    expect([await network.isActive(), await network.isPersistent()]).toEqual([true, false]);
    await network.destroy();
    expect(await codeOf(hypervisor.networkLookupByName('short'))).toBe('NO_NETWORK');
  });
});
