/** Tests the statistics that a fake libvirtd sends, and those of real guests. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Hypervisor } from '@rackless/libvirt';
import { FakeLibvirtd, HANG } from '../../../libvirt/test/fake/fake-libvirtd.js';
import { connectProcedures } from '../../../libvirt/src/protocol/connect.js';
import { domainProcedures } from '../../../libvirt/src/protocol/domain.js';
import type { TypedParameterValue } from '../../../libvirt/src/protocol/typed-parameter.js';
import { LibvirtStatistics } from '../../src/drivers/libvirt/read/statistics.js';
import { TestHost, until, type Guest } from './host.js';

const uuid = '00000000-0000-4000-8000-000000000001';
const mac = '52:54:00:00:00:0a';

describe('statistics of a libvirtd', () => {
  let fake: FakeLibvirtd;
  let hypervisor: Hypervisor;
  let statistics: LibvirtStatistics;
  let definitions = 0;

  beforeEach(async () => {
    fake = await FakeLibvirtd.start();
    hypervisor = Hypervisor.connect(fake.uri, { callTimeoutMs: 2_000 });
    // Connects first: connecting may take longer than the short timeout of statistics on a busy host.
    await hypervisor.connected({ timeoutMs: 120_000 });
    statistics = new LibvirtStatistics({ hypervisor, timeoutMs: 2_000 }, 200);
    definitions = 0;
    fake.on(domainProcedures.getXmlDesc, () => {
      definitions += 1;
      return (
        `<domain><devices><interface type='user'><mac address='52:54:00:00:00:09'/></interface>` +
        `<interface type='bridge'><mac address='${mac.toUpperCase()}'/></interface></devices></domain>`
      );
    });
  });
  afterEach(async () => {
    await hypervisor.close();
    await fake.stop();
  });

  /**
   * Makes libvirtd answer with one machine and these values. Numbers that are not negative have the types `ullong` and
   * `int` in turn.
   */
  const answer = (id: number, parameters: Readonly<Record<string, number | string>>): void =>
    fake.on(connectProcedures.getAllDomainStats, () => [
      {
        domain: { name: 'web', uuid, id },
        parameters: Object.entries(parameters).map(([field, value], index) => ({
          field,
          value: parameter(value, index % 2 === 0),
        })),
      },
    ]);
  const parameter = (value: number | string, long: boolean): TypedParameterValue => {
    if (typeof value === 'string') return { type: 'string', value };
    return long && value >= 0 ? { type: 'ullong', value: BigInt(value) } : { type: 'int', value };
  };

  it('have the counters of disks by target and of interfaces by MAC address, and omit missing counters', async () => {
    answer(7, {
      'cpu.time': 9_000,
      'vcpu.current': 2,
      'vcpu.maximum': 4,
      'vcpu.0.time': 3_000,
      // CPU 1 was unplugged, so libvirt omits its number.
      'vcpu.2.time': 4_000,
      'balloon.current': 2_048,
      'balloon.rss': 1_024,
      'balloon.available': 2_000,
      'balloon.usable': 500,
      'balloon.last-update': 1_700_000_000,
      'net.count': 2,
      'net.1.name': 'vnet3',
      'net.1.rx.bytes': 10,
      'net.1.rx.pkts': 1,
      'net.1.tx.bytes': 20,
      'block.count': 3,
      'block.0.name': 'vda',
      'block.0.rd.bytes': 512,
      'block.0.rd.reqs': 1,
      'block.0.wr.bytes': -1,
      'block.1.name': 'vda',
      'block.1.backingIndex': 3,
      'block.2.name': 'sda',
      'block.2.rd.reqs': 0,
    });
    expect(await statistics.all()).toEqual([
      {
        uuid,
        run: '7',
        processors: { timeNs: 9_000, vcpus: { timeNs: 7_000, count: 2 } },
        memory: {
          currentKiB: 2_048,
          residentKiB: 1_024,
          guest: { availableKiB: 2_000, usableKiB: 500, at: new Date('2023-11-14T22:13:20Z') },
        },
        disks: new Map([
          ['vda', { readBytes: 512, readRequests: 1 }],
          ['sda', { readRequests: 0 }],
        ]),
        interfaces: new Map([[mac, { rxBytes: 10, rxPackets: 1, txBytes: 20 }]]),
      },
    ]);
  });

  it('omit guest values if the balloon driver never reported, and CPU values if some CPUs are missing', async () => {
    answer(7, { 'vcpu.current': 2, 'vcpu.maximum': 2, 'vcpu.0.time': 1, 'balloon.available': 2, 'balloon.usable': 1, 'balloon.last-update': 0 }); // prettier-ignore
    expect(await statistics.all()).toEqual([
      { uuid, run: '7', processors: {}, memory: {}, disks: new Map(), interfaces: new Map() },
    ]);
  });

  it('need the XML of a machine only once, and again after a change of its interfaces or a restart', async () => {
    const two = { 'net.count': 2, 'net.1.name': 'vnet3' };
    for (const id of [7, 7, 7]) {
      answer(id, two);
      await statistics.all();
    }
    expect(definitions).toBe(1);
    answer(7, { ...two, 'net.0.name': 'vnet4' });
    await statistics.all();
    expect(definitions).toBe(2);
    answer(8, two);
    await statistics.all();
    expect(definitions).toBe(3);
  });

  it('are requested a second time if libvirt waits for a QEMU that hangs', async () => {
    let asked = 0;
    fake.on(connectProcedures.getAllDomainStats, () => {
      asked += 1;
      return asked === 1 ? HANG : [];
    });
    expect(await statistics.all()).toEqual([]);
    expect(asked).toBe(2);
  });

  it('are unavailable if libvirtd does not answer', async () => {
    fake.on(connectProcedures.getAllDomainStats, () => HANG);
    await expect(statistics.all()).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('statistics of real guests', () => {
  const nic = `<interface type='ethernet'><mac address='${mac}'/><model type='virtio'/></interface>`;
  let host: TestHost;
  let guests: readonly Guest[];

  beforeAll(async () => {
    host = await TestHost.start();
    guests = [await host.guest({ devices: nic }), await host.guest(), await host.guest()];
    for (const { name } of guests.slice(0, 2)) await host.virsh('start', name);
  });
  afterAll(() => host.stop());

  it('cover all running guests, and while one QEMU hangs, omit its disks but not its CPU time', async () => {
    const statistics = new LibvirtStatistics(host.parts(), 3_000);
    const [first, second] = guests;
    await until('the guests to have read their disks', async () =>
      (await statistics.all()).every(({ disks }) => (disks.get('vda')?.readBytes ?? 0) >= 512),
    );
    const before = await statistics.all();
    expect(before.map((machine) => machine.uuid).sort()).toEqual([first?.uuid, second?.uuid]);
    expect(before.find((machine) => machine.uuid === first?.uuid)?.interfaces.get(mac)).toEqual({
      rxBytes: expect.any(Number),
      rxPackets: expect.any(Number),
      rxErrors: 0,
      rxDrops: expect.any(Number),
      txBytes: expect.any(Number),
      txPackets: expect.any(Number),
      txErrors: 0,
      txDrops: 0,
    });
    for (const { memory, processors } of before) {
      expect(memory).toEqual({ currentKiB: 16_384, residentKiB: expect.any(Number) });
      expect(processors).toEqual({ timeNs: expect.any(Number), vcpus: { timeNs: expect.any(Number), count: 1 } });
      expect(processors.timeNs).toBeGreaterThan(0);
    }
    const pid = await host.libvirtd.guestPid(first?.name ?? '');
    process.kill(pid, 'SIGSTOP');
    try {
      // The first call to libvirt times out. The driver's later calls get no values that only the hanging QEMU knows.
      for (const all of [await statistics.all(), await statistics.all()]) {
        expect(all.find((machine) => machine.uuid === second?.uuid)?.disks.get('vda')).toBeDefined();
        expect(all.find((machine) => machine.uuid === first?.uuid)?.disks).toEqual(new Map());
        expect(all.find((machine) => machine.uuid === first?.uuid)?.processors.timeNs).toBeGreaterThan(0);
      }
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await until('the statistics of the first guest to return', async () => {
      const all = await statistics.all();
      return all.find((machine) => machine.uuid === first?.uuid)?.disks.get('vda') !== undefined;
    });
  });
});
