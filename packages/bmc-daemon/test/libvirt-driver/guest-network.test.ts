/**
 * Tests addresses of guests with a fake libvirtd, which answers as the test decides or not at all.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Hypervisor } from '@rackless/libvirt';
import { FakeLibvirtd, HANG, Refusal } from '../../../libvirt/test/fake/fake-libvirtd.js';
import { domainProcedures } from '../../../libvirt/src/protocol/domain.js';
import { interfaceProcedures } from '../../../libvirt/src/protocol/interface.js';
import { networkProcedures } from '../../../libvirt/src/protocol/network.js';
import type { InterfaceSnapshot } from '../../src/drivers/snapshot/hardware-snapshot.js';
import type { CompleteSnapshot } from '../../src/drivers/snapshot/system-snapshot.js';
import { until } from './host.js';
import { sampleMachines } from '../../src/drivers/fake/sample-machines.js';
import { GuestNetworkReader } from '../../src/drivers/libvirt/read/guest-network.js';
import type { Host } from '../../src/drivers/libvirt/machine/host.js';
import { localFiles } from '../../src/drivers/libvirt/host-files.js';
import { Inventory } from '../../src/drivers/libvirt/machine/inventory.js';
import { MachineQueue } from '../../src/drivers/queue/machine-queue.js';

const [sample] = sampleMachines(1);
if (sample === undefined) throw new Error('a machine expected');
const uuid = sample.uuid;
const [labMac, directMac] = ['52:54:00:00:00:01', '52:54:00:00:00:02'];
const nic = (mac: string, type: string, source: string): InterfaceSnapshot => ({
  mac,
  type,
  source,
  model: 'virtio',
  linkUp: true,
});
const running: CompleteSnapshot = {
  ...sample,
  state: 'running',
  interfaces: [nic(labMac, 'network', 'lab'), nic(directMac, 'direct', 'eth7')],
};
const lease = {
  iface: 'virbr0',
  expirytime: 0,
  type: 0,
  mac: labMac,
  iaid: null,
  ipaddr: '192.0.2.7',
  prefix: 24,
  hostname: 'web',
  clientid: null,
};
const unknown = { ipv4: [], ipv6: [], hostName: null, domainName: null, speedMbps: null };
const channel = (state: string): string =>
  `<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0' state='${state}'/></channel>`;

let fake: FakeLibvirtd;
let host: Host;
let reader: GuestNetworkReader;

beforeEach(async () => {
  fake = await FakeLibvirtd.start();
  const hypervisor = Hypervisor.connect(fake.uri, { callTimeoutMs: 2_000 });
  const log = { info: () => undefined, warn: () => undefined, debug: () => undefined };
  const inventory = new Inventory(hypervisor, 2_000);
  host = { hypervisor, inventory, queue: new MachineQueue(), log, timeoutMs: 2_000, files: localFiles };
  reader = new GuestNetworkReader(host);
  fake.on(domainProcedures.lookupByName, ({ name }) => ({ name, uuid, id: 1 }));
  fake.on(networkProcedures.lookupByName, ({ name }) => ({ name, uuid }));
  fake.on(networkProcedures.getXmlDesc, () => `<network><name>lab</name><domain name='lab.test'/></network>`);
  fake.on(networkProcedures.getDhcpLeases, () => ({ leases: [lease], count: 1 }));
  fake.on(interfaceProcedures.lookupByName, ({ name }) => ({ name, mac: directMac }));
  fake.on(interfaceProcedures.getXmlDesc, () => `<interface name='eth7'><link speed='10000' state='up'/></interface>`);
  setAgentState('disconnected');
});
afterEach(async () => {
  await host.hypervisor.close();
  await fake.stop();
});

function setAgentState(state: string): void {
  fake.on(domainProcedures.getXmlDesc, () => `<domain><devices>${channel(state)}</devices></domain>`);
}

async function facts(system: CompleteSnapshot = running) {
  const domain = await host.hypervisor.domainLookupByName(sample?.name ?? '');
  const machine = { uuid, name: domain.name, domain, persistent: true };
  return Object.fromEntries(await reader.read(machine, system));
}

/** Reads until the facts are as expected. On a busy host, a first read returns before libvirt's answers. */
async function expectFacts(expected: Record<string, unknown>): Promise<void> {
  await until('the facts', async () => {
    expect(await facts()).toEqual(expect.objectContaining(expected));
    return true;
  });
}

describe('the network of a guest', () => {
  it("is reported with the addresses that a libvirt network leased, and with the speed of the host's interface", async () => {
    await expectFacts({
      [labMac]: {
        ipv4: [{ address: '192.0.2.7', prefix: 24, origin: 'dhcp' }],
        ipv6: [],
        hostName: 'web',
        domainName: 'lab.test',
        speedMbps: null,
      },
      [directMac]: { ...unknown, hostName: null, speedMbps: 10_000 },
    });
  });

  it('has the addresses that the guest agent reports, and marks those that were leased', async () => {
    setAgentState('connected');
    fake.on(domainProcedures.getHostname, () => 'web.example.org');
    fake.on(domainProcedures.interfaceAddresses, () => [
      {
        name: 'eth0',
        hwaddr: labMac.toUpperCase(),
        addresses: [
          { type: 0, address: '192.0.2.7', prefix: 24 },
          { type: 0, address: '198.51.100.1', prefix: 32 },
          { type: 1, address: 'fe80::1', prefix: 64 },
        ],
      },
    ]);
    const reported = {
      ipv4: [
        { address: '192.0.2.7', prefix: 24, origin: 'dhcp' },
        { address: '198.51.100.1', prefix: 32, origin: null },
      ],
      ipv6: [{ address: 'fe80::1', prefix: 64, origin: null }],
      hostName: 'web.example.org',
      domainName: 'lab.test',
      speedMbps: null,
    };
    await expectFacts({ [labMac]: reported });
  });

  it('is not delayed by an agent that hangs: reads return the leases, and call the agent only once', async () => {
    setAgentState('connected');
    let asked = 0;
    fake.on(domainProcedures.interfaceAddresses, () => {
      asked += 1;
      return HANG;
    });
    const leased = [{ address: '192.0.2.7', prefix: 24, origin: 'dhcp' }];
    await expectFacts({ [labMac]: expect.objectContaining({ ipv4: leased }) });
    // While the first call is pending and after its timeout of 500 ms, no second call is made. The loop takes 800 ms.
    for (let turn = 0; turn < 40; turn += 1) {
      expect((await facts())[labMac]?.ipv4).toEqual(leased);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(asked).toBe(1);
  });

  it('has no address if the lease has expired, or the machine is off', async () => {
    fake.on(networkProcedures.getDhcpLeases, () => ({ leases: [{ ...lease, expirytime: 1 }], count: 1 }));
    await expectFacts({ [labMac]: { ...unknown, domainName: 'lab.test' } });
    expect(await facts({ ...running, state: 'shutoff' })).toEqual({});
  });

  it('is unknown until libvirt answers', async () => {
    let answer: (() => void) | undefined;
    fake.on(networkProcedures.getDhcpLeases, async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      return { leases: [lease], count: 1 };
    });
    expect((await facts())[labMac]).toEqual(unknown);
    answer?.();
    await expectFacts({ [labMac]: expect.objectContaining({ hostName: 'web' }) });
  });

  it('is unknown where libvirt has no information', async () => {
    const refuse = (): never => {
      throw new Refusal(3, 10, 'this function is not supported by the connection driver');
    };
    fake.on(networkProcedures.getDhcpLeases, refuse);
    fake.on(interfaceProcedures.lookupByName, refuse);
    await expectFacts({ [labMac]: { ...unknown, domainName: 'lab.test' }, [directMac]: unknown });
    fake.on(interfaceProcedures.lookupByName, ({ name }) => ({ name, mac: directMac }));
    // 4294967295 is the kernel's value for an unknown speed.
    fake.on(interfaceProcedures.getXmlDesc, () => `<interface name='eth7'><link speed='4294967295'/></interface>`);
    reader = new GuestNetworkReader(host);
    expect((await facts())[directMac]?.speedMbps).toBeNull();
  });
});
