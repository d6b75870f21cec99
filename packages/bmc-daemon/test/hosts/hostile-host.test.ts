/** Tests a host whose libvirtd sends hostile answers, beside a host that works. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectProcedures } from '../../../libvirt/src/protocol/connect.js';
import { domainProcedures } from '../../../libvirt/src/protocol/domain.js';
import { FakeLibvirtd } from '../../../libvirt/test/fake/fake-libvirtd.js';
import { startHosts, uuidOf, type LabDriver } from './hosts-lab.js';

const longName = 'x'.repeat(10_000);
const xmlOf = (uuid: string, name: string): string =>
  `<domain type='test'><name>${name}</name><uuid>${uuid}</uuid><memory>65536</memory><os><type arch='x86_64'>hvm</type></os><devices/></domain>`;

interface Answer {
  readonly uuid: string;
  readonly name: string;
  readonly xml: string;
}

const good: Answer = { uuid: uuidOf(1), name: 'good', xml: xmlOf(uuidOf(1), 'good') };
const hostile: readonly Answer[] = [
  { uuid: uuidOf(11), name: 'a\u001b[2J\r\nb\u0000', xml: xmlOf(uuidOf(11), 'a') },
  { uuid: uuidOf(12), name: longName, xml: xmlOf(uuidOf(12), longName) },
  { uuid: uuidOf(13), name: 'first', xml: xmlOf(uuidOf(13), 'first') },
  { uuid: uuidOf(13), name: 'second', xml: xmlOf(uuidOf(13), 'second') },
  { uuid: uuidOf(14), name: 'empty', xml: '' },
  { uuid: uuidOf(15), name: 'bare', xml: '<domain/>' },
  { uuid: uuidOf(16), name: 'torn', xml: '<domain type="kvm"><name>torn</na' },
  { uuid: uuidOf(17), name: 'other root', xml: '<network><name>other root</name></network>' },
  { uuid: uuidOf(18), name: 'deep', xml: '<a>'.repeat(20_000) },
];

async function serve(answers: readonly Answer[]): Promise<FakeLibvirtd> {
  const fake = await FakeLibvirtd.start();
  fake.on(connectProcedures.listAllDomains, ({ flags }) => {
    const domains = flags === 0 ? answers.map(({ uuid, name }) => ({ uuid, name, id: -1 })) : [];
    return { domains, count: domains.length };
  });
  fake.on(connectProcedures.getLibVersion, () => 9_000_000);
  fake.on(domainProcedures.getState, () => ({ state: 5, reason: 0 }));
  fake.on(domainProcedures.getAutostart, () => false);
  fake.on(domainProcedures.getXmlDesc, ({ domain: { name } }) => answers.find((each) => each.name === name)?.xml ?? '');
  return fake;
}

describe('a host that sends hostile answers', () => {
  let fakes: readonly FakeLibvirtd[];
  let lab: LabDriver;
  beforeAll(async () => {
    fakes = await Promise.all([serve([good]), serve(hostile)]);
    lab = await startHosts(fakes.map(({ uri }, index) => ({ name: `host-${index}`, uri })));
  });
  afterAll(async () => {
    await lab.driver.close();
    for (const fake of fakes) await fake.stop();
  });

  it('has each UUID once in the list of machines, and does not affect the machines of other hosts', async () => {
    const uuids = (await lab.driver.listSystems()).map(({ uuid }) => uuid);
    expect(uuids.toSorted()).toEqual([...new Set([good, ...hostile].map(({ uuid }) => uuid))].toSorted());
    expect(await lab.driver.getSystem(good.uuid)).toMatchObject({ name: 'good', state: 'shutoff', host: 'host-0' });
  });

  it.each(hostile.map(({ uuid, name }) => [name.slice(0, 12), uuid] as const))(
    'causes a snapshot of the machine %j, or a typed error with a bounded message',
    async (_, uuid) => {
      const outcome: unknown = await lab.driver.getSystem(uuid).catch((error: unknown) => error);
      expect(outcome instanceof Error ? outcome.constructor.name : 'snapshot').toMatch(/^(DriverError|snapshot)$/);
      expect(outcome instanceof Error ? outcome.message.length : 0).toBeLessThan(20_000);
    },
  );
});
