/**
 * Tests the queues through which a change passes, with a real libvirtd. The changes of a machine run one after
 * the other. No change waits forever, and no machine waits for another.
 */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { newFolder, openLab, type Lab } from '../events/event-lab.js';
import { CallRelay } from '../kill/call-relay.js';
import type { Received } from '../support/client.js';
import { TestHost, until } from './host.js';

const uuids = ['00000000-0000-4000-8000-0000000000c1', '00000000-0000-4000-8000-0000000000c2'] as const;
const path = (machine: 0 | 1): string => `/redfish/v1/Systems/${uuids[machine]}`;
/** A call that libvirt does not answer fails after this time. */
const TIMEOUT_MS = 10_000;

const folder = newFolder();
let host: TestHost;
let relay: CallRelay;
let driver: CompleteDriver;
let lab: Lab;
beforeAll(async () => {
  host = await TestHost.start('test');
  relay = await CallRelay.listen(host.file('relay.sock'), host.libvirtd.socket);
  const uri = host.libvirtd.uri.replace(host.libvirtd.socket, relay.path);
  driver = await host.driver({ uri, timeoutMs: TIMEOUT_MS });
  lab = await openLab(driver, folder.path);
  // libvirt's test driver forgets its machines when the last client disconnects. So our driver connects first.
  for (const [index, uuid] of uuids.entries()) {
    const file = host.file(`machine-${index}.xml`);
    await writeFile(
      file,
      `<domain type='test'><name>machine-${index}</name><uuid>${uuid}</uuid><memory unit='MiB'>64</memory>` +
        `<os><type arch='x86_64'>hvm</type></os><devices>` +
        `<disk type='file' device='disk'><source file='/x.img'/><target dev='vda' bus='virtio'/></disk>` +
        `<disk type='file' device='cdrom'><target dev='hdc' bus='ide'/><readonly/></disk></devices></domain>`,
    );
    await host.virsh('define', file);
  }
  // The first change of a machine also completes operations from before the start of the daemon. So these changes come
  // before the tests.
  for (const machine of [0, 1] as const) await patch(machine, { AssetTag: 'first' });
});
afterAll(async () => {
  await lab.close();
  await driver.close();
  await relay.close();
  await host.stop();
  folder.remove();
});

const patch = (machine: 0 | 1, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Received> =>
  lab.client.send('PATCH', path(machine), { body, headers });

describe('the requests of a machine', () => {
  it('succeed only once if they have the same ETag in If-Match', async () => {
    const { headers } = await lab.client.get(path(0));
    const etag = headers.etag ?? '';
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => patch(0, { AssetTag: `shelf ${index}` }, { 'If-Match': etag })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    const { AssetTag: tag } = await lab.get(path(0));
    expect(answers.find(({ status }) => status === 200)?.json).toMatchObject({ AssetTag: tag });
  });

  it('all get an answer if clients send them together, and the driver then closes', async () => {
    const own = await host.driver();
    const mixed = await openLab(own, folder.path);
    const reset = (ResetType: string): [string, string, object] => [
      'POST',
      '/Actions/ComputerSystem.Reset',
      { ResetType },
    ];
    const boot = (target: string): [string, string, object] => [
      'PATCH',
      '',
      { Boot: { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: 'Once' } },
    ];
    const kinds: readonly [method: string, path: string, body?: object][] = [
      ['PATCH', '', { AssetTag: 'mixed', PowerRestorePolicy: 'AlwaysOn' }],
      ['PATCH', '', { IndicatorLED: 'Lit', PowerRestorePolicy: 'AlwaysOff' }],
      ['PATCH', '/Bios/Settings', { Attributes: { QuietBoot: false } }],
      ['POST', '/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia', {}],
      ['GET', ''],
      boot('Cd'),
      boot('Hdd'),
      reset('On'),
      reset('ForceOff'),
      reset('PowerCycle'),
      reset('ForceRestart'),
    ];
    const sent = Array.from({ length: 20 }, (_, round) => kinds.map((kind) => [round, ...kind] as const)).flat();
    const answers = await Promise.all(
      sent.map(([round, method, below, body]) =>
        mixed.client.send(method, path(round % 2 === 0 ? 0 : 1) + below, body === undefined ? {} : { body }),
      ),
    );
    // 409: a start fails if another request switches the machine off at the same time.
    const unexpected = answers.filter(({ status }) => ![200, 204, 409].includes(status));
    expect(unexpected.map(({ status, text }) => [status, text])).toEqual([]);
    await mixed.close();
    await own.close();
  });

  it('wait for a call that libvirt does not answer only until its timeout, and delay no other machine', async () => {
    let ignored = 0;
    relay.decideBy(({ name }) => (name === 'domainDefineXmlFlags' && ignored++ === 0 ? 'ignore' : 'forward'));
    const order: string[] = [];
    const sent = async (title: string, answer: Promise<Received>): Promise<number> => {
      const { status } = await answer;
      order.push(title);
      return status;
    };
    const hung = sent('hung', patch(0, { AssetTag: 'hung' }));
    await until('the call', () => Promise.resolve(ignored > 0));
    const next = sent('next', patch(0, { IndicatorLED: 'Blinking' }));
    const bios = sent(
      'bios',
      lab.client.send('PATCH', `${path(0)}/Bios/Settings`, { body: { Attributes: { QuietBoot: true } } }),
    );
    const other = sent('other', patch(1, { IndicatorLED: 'Blinking' }));
    expect(await Promise.all([hung, next, bios, other])).toEqual([503, 200, 200, 200]);
    expect(order.slice(0, 2)).toEqual(['other', 'hung']);
    const { AssetTag, IndicatorLED } = await lab.get(path(0));
    expect([AssetTag === 'hung', IndicatorLED]).toEqual([false, 'Blinking']);
  });
});
