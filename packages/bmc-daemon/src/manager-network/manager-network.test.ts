import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { addressesInMemory, type AddressesInMemory } from '../../test/support/host-addresses.js';
import { stateInMemory } from '../../test/support/services.js';
import { HostAddressError } from '../host/host-addresses.js';
import type { HostNetwork } from '../host/host-network.js';
import type { StateFile } from '../state-file.js';
import { createManagerNetwork, type ManagerNetwork } from './manager-network.js';
import { NetworkChangeError } from './network-plan.js';
import { emptyNetworkState, type ManagerNetworkState } from './network-state.js';

const port = {
  mac: '52:54:00:00:00:01',
  ipv6: [],
  ipv4Gateway: null,
  ipv6Gateway: null,
  linkUp: true,
  speedMbps: null,
  mtu: null,
  vlan: null,
};
const hostNetwork: HostNetwork = {
  hostName: 'kvm1',
  fqdn: 'kvm1.example.org',
  interfaces: [
    { ...port, name: 'eth0', ipv4: [{ address: '192.0.2.1', prefix: 24 }] },
    { ...port, name: 'eth1', ipv4: [{ address: '198.51.100.1', prefix: 24 }] },
  ],
  nameServers: ['192.0.2.53'],
};
const present = [
  { device: 'eth0', address: '192.0.2.1', prefix: 24 },
  { device: 'eth1', address: '198.51.100.1', prefix: 24 },
];
const a = '00000000-0000-4000-8000-00000000000a';
const b = '00000000-0000-4000-8000-00000000000b';
const addressesOn = (device: string, ...addresses: readonly string[]) => ({
  addresses: { device, ipv4: addresses.map((address) => ({ address, prefix: 24 })) },
});

describe('the network of a manager', () => {
  let host: AddressesInMemory;
  let state: StateFile<ManagerNetworkState>;
  let listening: Set<string>;
  let usedServers: (readonly string[])[];
  let warned: string[];
  let network: ManagerNetwork;
  const open = (): ManagerNetwork =>
    createManagerNetwork({
      state,
      hostNetwork: () => hostNetwork,
      host,
      listenAt: (address) => {
        if (address === '192.0.2.99') return Promise.reject(new Error('listening at 192.0.2.99: the port is in use'));
        listening.add(address);
        return Promise.resolve(() => void listening.delete(address));
      },
      useNameServers: (servers) => void usedServers.push(servers),
      log: { info: () => undefined, warn: (text) => void warned.push(text) },
    });
  const scope = (name: string | undefined, localAddress = '192.0.2.1'): string | null => {
    const request = { headers: name === undefined ? {} : { host: name }, socket: { localAddress } };
    // The code under test uses only these members.
    return network.scopeOf(request as unknown as Parameters<ManagerNetwork['scopeOf']>[0]);
  };
  const faults = async (change: Promise<void>): Promise<unknown> => {
    const error: unknown = await change.catch((thrown: unknown) => thrown);
    return error instanceof NetworkChangeError ? error.faults : error;
  };

  beforeEach(() => {
    host = addressesInMemory({ present, answered: ['192.0.2.200'] });
    state = stateInMemory(emptyNetworkState);
    [listening, usedServers, warned] = [new Set(), [], []];
    network = open();
  });
  afterEach(() => network.close());

  it('equals the network of the host if there are no settings', () => {
    expect(network.viewOf(a)).toEqual({
      hostName: 'kvm1',
      fqdn: 'kvm1.example.org',
      nameServers: ['192.0.2.53'],
      ownNameServers: [],
      interfaces: hostNetwork.interfaces.map((one) => ({
        ...one,
        ipv4: one.ipv4.map((address) => ({ ...address, isOwn: false })),
        ownIpv4: [],
        ownIpv6: [],
      })),
    });
    expect([scope('kvm1'), scope(undefined), scope('anything:8000')]).toEqual([null, null, null]);
  });

  it('has names that select its machine, and that no other manager can have', async () => {
    await network.change(a, { hostName: 'web' });
    expect(network.viewOf(a)).toMatchObject({ hostName: 'web', fqdn: 'web.example.org' });
    expect(['web', 'WEB.example.org:8000', 'kvm1', 'other'].map((name) => scope(name))).toEqual([a, a, null, null]);
    const taken = { kind: 'taken', holder: a };
    await expect(faults(network.change(b, { hostName: 'WEB' }))).resolves.toEqual([
      { ...taken, field: 'hostName', why: 'the manager of another machine is called web' },
    ]);
    await expect(faults(network.change(b, { hostName: 'x', fqdn: 'web.example.org' }))).resolves.toEqual([
      { ...taken, field: 'fqdn', why: 'the manager of another machine is called web.example.org' },
    ]);
    // The name of the host does not count as the manager's own name.
    await network.change(a, { hostName: 'KVM1' });
    expect([network.viewOf(a).hostName, scope('web'), state.state]).toEqual(['kvm1', null, emptyNetworkState]);
  });

  it('has its own addresses instead of those of the host', async () => {
    await network.change(a, addressesOn('eth0', '192.0.2.9', '203.0.113.9'));
    // An address within the network of the host needs no additional network.
    expect([...host.set]).toEqual(['192.0.2.9/32 eth0', '203.0.113.9/24 eth0']);
    expect([...listening]).toEqual(['192.0.2.9', '203.0.113.9']);
    const [eth0, eth1] = network.viewOf(a).interfaces;
    expect(eth0?.ipv4).toEqual([
      { address: '192.0.2.9', prefix: 24, isOwn: true },
      { address: '203.0.113.9', prefix: 24, isOwn: true },
    ]);
    expect(eth1?.ipv4).toEqual([{ address: '198.51.100.1', prefix: 24, isOwn: false }]);
    expect(network.viewOf(b).interfaces[0]?.ipv4).toEqual([{ address: '192.0.2.1', prefix: 24, isOwn: false }]);
    expect([scope('kvm1', '192.0.2.9'), scope('kvm1', '::ffff:192.0.2.9'), network.machineAt('192.0.2.9')]).toEqual([
      a,
      a,
      a,
    ]);

    // Only changed addresses are set. The order is that of the client.
    await network.change(a, addressesOn('eth0', '203.0.113.9'));
    await network.change(a, addressesOn('eth1', '198.51.100.9'));
    expect([...host.set]).toEqual(['203.0.113.9/24 eth0', '198.51.100.9/32 eth1']);
    expect([...listening]).toEqual(['203.0.113.9', '198.51.100.9']);
    expect(scope('kvm1', '192.0.2.9')).toBeNull();
    await network.close();
    expect([host.set.size, state.state.machines[a]?.addresses.length]).toEqual([0, 2]);
  });

  it('reports all faults of a change, and applies no part of it', async () => {
    await network.change(a, { hostName: 'web', ...addressesOn('eth0', '192.0.2.9') });
    const before = state.state;
    const at = (index: number) => ({ field: 'ipv4', index, part: 'address' });
    await expect(
      faults(
        network.change(b, {
          hostName: 'web',
          ...addressesOn('eth0', '192.0.2.9', '192.0.2.10', '192.0.2.10', '198.51.100.9', '192.0.2.1'),
        }),
      ),
    ).resolves.toEqual([
      { field: 'hostName', kind: 'taken', why: 'the manager of another machine is called web', holder: a },
      { ...at(0), kind: 'taken', why: 'the manager of another machine has it', holder: a },
      { ...at(2), kind: 'invalid', why: 'this manager already has it' },
      { ...at(4), kind: 'invalid', why: 'the host has it already, on eth0' },
    ]);
    await expect(faults(network.change(b, addressesOn('eth0', '192.0.2.10', '192.0.2.200')))).resolves.toEqual([
      { ...at(1), kind: 'invalid', why: 'another host of the link has 192.0.2.200' },
    ]);
    await expect(faults(network.change(b, addressesOn('eth0', '192.0.2.10', '192.0.2.99')))).resolves.toEqual([
      { ...at(1), kind: 'unable', why: 'listening at 192.0.2.99: the port is in use' },
    ]);
    host.failWith(new HostAddressError('notPermitted', 'adding 192.0.2.10 to eth0: this service has no CAP_NET_ADMIN'));
    await expect(faults(network.change(b, { hostName: 'db', ...addressesOn('eth0', '192.0.2.10') }))).resolves.toEqual([
      { ...at(0), kind: 'unable', why: 'adding 192.0.2.10 to eth0: this service has no CAP_NET_ADMIN' },
    ]);
    expect([state.state, [...host.set], [...listening]]).toEqual([before, ['192.0.2.9/32 eth0'], ['192.0.2.9']]);
    expect(scope('db')).toBeNull();
  });

  it('stays unchanged if a change cannot be stored', async () => {
    await network.change(a, addressesOn('eth0', '192.0.2.9'));
    state.update = () => {
      throw new Error('the disk is full');
    };
    await expect(network.change(a, addressesOn('eth0', '192.0.2.10'))).rejects.toThrow('the disk is full');
    expect([...host.set]).toEqual(['192.0.2.9/32 eth0']);
  });

  it('uses for all machines the name servers that a client has set at any manager', async () => {
    await network.change(a, { nameServers: ['192.0.2.54'] });
    expect([usedServers.at(-1), network.viewOf(b).nameServers]).toEqual([['192.0.2.54'], ['192.0.2.54']]);
    await network.close();
    network = open();
    expect(usedServers.at(-1)).toEqual(['192.0.2.54']);
    await network.change(b, { nameServers: [] });
    expect([usedServers.at(-1), network.viewOf(a).nameServers, network.viewOf(a).ownNameServers]).toEqual([
      [],
      ['192.0.2.53'],
      [],
    ]);
  });

  it('is restored at the next start, and removed with the machine', async () => {
    await network.change(a, { hostName: 'web', ...addressesOn('eth0', '192.0.2.9') });
    await network.change(b, addressesOn('eth0', '192.0.2.10'));
    await network.close();
    network = open();
    await network.start();
    expect([...host.set].sort()).toEqual(['192.0.2.10/32 eth0', '192.0.2.9/32 eth0']);
    await network.forget((uuid) => uuid === a);
    expect([[...host.set], [...listening], scope('web')]).toEqual([['192.0.2.10/32 eth0'], ['192.0.2.10'], null]);
    expect(Object.keys(state.state.machines)).toEqual([b]);
  });

  it('restores removed addresses, and logs a failure once', async () => {
    jest.useFakeTimers();
    try {
      await network.change(a, addressesOn('eth0', '192.0.2.9'));
      const lose = () => host.remove({ device: 'eth0', address: '192.0.2.9', prefix: 32 });
      await lose();
      await jest.advanceTimersByTimeAsync(11_000);
      expect([...host.set]).toEqual(['192.0.2.9/32 eth0']);
      await lose();
      host.failWith(new HostAddressError('notPermitted', 'no'));
      await jest.advanceTimersByTimeAsync(35_000);
      expect(warned).toEqual(['restoring the manager address 192.0.2.9 on eth0 failed']);
      // The address is not active: the manager uses the addresses of the host.
      expect(network.viewOf(a).interfaces[0]).toMatchObject({
        ipv4: [{ address: '192.0.2.1', isOwn: false }],
        ownIpv4: [{ address: '192.0.2.9', prefix: 24 }],
      });
      host.failWith(undefined);
      await jest.advanceTimersByTimeAsync(11_000);
      expect([[...host.set], scope(undefined, '192.0.2.9')]).toEqual([['192.0.2.9/32 eth0'], a]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('does not set an address that the host has', async () => {
    await network.change(a, addressesOn('eth0', '192.0.2.9'));
    await network.close();
    host = addressesInMemory({ present: [...present, { device: 'eth1', address: '192.0.2.9', prefix: 24 }] });
    network = open();
    await network.start();
    expect([host.set.size, scope(undefined, '192.0.2.9'), warned]).toEqual([
      0,
      null,
      ['restoring the manager address 192.0.2.9 on eth0 failed'],
    ]);
  });

  it('releases an address that the host gets while it is in use', async () => {
    jest.useFakeTimers();
    try {
      const hosts = [...present];
      host = addressesInMemory({ present: hosts });
      network = open();
      await network.change(a, addressesOn('eth0', '192.0.2.9'));
      expect(scope(undefined, '192.0.2.9')).toBe(a);
      hosts.push({ device: 'eth0', address: '192.0.2.9', prefix: 24 });
      await jest.advanceTimersByTimeAsync(11_000);
      expect([host.set.size, listening.size, scope(undefined, '192.0.2.9')]).toEqual([0, 0, null]);
      expect(warned).toEqual(['restoring the manager address 192.0.2.9 on eth0 failed']);
      hosts.pop();
      await jest.advanceTimersByTimeAsync(11_000);
      expect([[...host.set], scope(undefined, '192.0.2.9')]).toEqual([['192.0.2.9/32 eth0'], a]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('removes an address one second later if the reply may use it', async () => {
    jest.useFakeTimers();
    try {
      await network.change(a, addressesOn('eth0', '192.0.2.9'));
      await network.change(a, addressesOn('eth0'), { lateRemoval: true });
      await jest.advanceTimersByTimeAsync(900);
      // Until its removal, the address belongs to the machine.
      expect([[...host.set], scope(undefined, '192.0.2.9')]).toEqual([['192.0.2.9/32 eth0'], a]);
      await jest.advanceTimersByTimeAsync(200);
      expect([host.set.size, scope(undefined, '192.0.2.9')]).toEqual([0, null]);
    } finally {
      jest.useRealTimers();
    }
  });
});
