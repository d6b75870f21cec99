/** Tests the events of real libvirt daemons: the fast test driver, and QEMU. */
import { readdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { ChangeFeed } from '../../src/drivers/libvirt/read/change-feed.js';
import { TestHost } from '../libvirt-driver/host.js';
import { accessWithAccount } from '../support/services.js';
import { keysOf, newFolder, openLab, openListener, openStream, until, type Body, type Lab } from './event-lab.js';

const uuid = '00000000-0000-4000-8000-0000000000ee';
const system = `/redfish/v1/Systems/${uuid}`;
const xml = (title: string) => `<domain type='test'>
  <name>dummy</name>
  <uuid>${uuid}</uuid>
  <title>${title}</title>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64'>hvm</type></os>
</domain>`;

const folder = newFolder();
let lab: Lab | undefined;
afterEach(async () => {
  await lab?.close();
  lab = undefined;
});
afterAll(() => folder.remove());

/** Returns the messages of a log, oldest first. */
async function logOf(at: Lab, log: string): Promise<readonly string[]> {
  // The schema requires this property.
  const members = (await at.get(`${log}/Entries`))['Members'] as readonly { readonly '@odata.id': string }[];
  return await Promise.all(members.map(async (member) => String((await at.get(member['@odata.id']))['Message'])));
}

describe("events of libvirt's test driver", () => {
  let host: TestHost;
  let driver: CompleteDriver;

  beforeAll(async () => {
    host = await TestHost.start('test');
    driver = await host.driver();
  });
  afterAll(() => host.stop());

  const define = async (title: string) => {
    await writeFile(host.file('dummy.xml'), xml(title));
    await host.virsh('define', host.file('dummy.xml'));
  };

  it('arrive by push, by stream and in the log when virsh destroys a machine', async () => {
    await define('first');
    await host.virsh('start', 'dummy');
    lab = await openLab(driver, folder.path);
    const listener = await openListener();
    const Destination = listener.url;
    await lab.post('/redfish/v1/EventService/Subscriptions', { Destination, Protocol: 'Redfish' });
    const stream = await openStream(lab.client);
    await host.virsh('destroy', 'dummy');
    const isOff = (records: readonly Body[]) => keysOf(records).includes('ResourcePoweredOff');
    await until(
      'the power-off in the stream and at the listener',
      () => isOff(listener.records()) && isOff(stream.records()),
    );
    const [pushed, streamed] = [listener.records(), stream.records()].map((records) =>
      records.find(({ MessageId }) => MessageId === 'ResourceEvent.1.4.ResourcePoweredOff'),
    );
    expect(pushed).toEqual(streamed);
    expect(pushed).toMatchObject({
      Message: "'dummy' was powered off. Destroyed.",
      OriginOfCondition: { '@odata.id': system },
    });
    expect(await logOf(lab, `${system}/LogServices/EventLog`)).toEqual(["'dummy' was powered off. Destroyed."]);
    stream.close();
    await listener.close();
  });

  it('report a new name as a change, not as a removal', async () => {
    await host.virsh('undefine', 'dummy').catch(() => undefined);
    await define('first');
    lab = await openLab(driver, folder.path);
    const eventTexts: string[] = [];
    const leave = driver.onChange(({ kind, name }) => void eventTexts.push(`${kind} ${name}`));
    await host.virsh('domrename', 'dummy', 'smart');
    await until('the new name', () => eventTexts.length > 0);
    await host.virsh('domrename', 'smart', 'dummy');
    await until('the old name', () => eventTexts.length > 1);
    leave();
    expect(eventTexts).toEqual(['changed smart', 'changed dummy']);
  });

  it("report new, changed and removed definitions, and the daemon's own changes once, with the client", async () => {
    await host.virsh('undefine', 'dummy').catch(() => undefined);
    lab = await openLab(driver, folder.path);
    const stream = await openStream(lab.client, `?$filter=${encodeURIComponent(`OriginResource eq '${system}'`)}`);
    await define('first');
    await until('the creation', () => keysOf(stream.records()).includes('ResourceCreated'));
    await define('second');
    await until('the change', () => keysOf(stream.records()).includes('ResourceChanged'));
    expect(stream.records().at(-1)?.['OriginAddress']).toBeUndefined();
    const answer = await lab.client.send('PATCH', system, { body: { IndicatorLED: 'Blinking' } });
    expect(answer.status).toBe(200);
    await until('the event of the PATCH', () => stream.records().length >= 3);
    expect(stream.records().at(-1)).toMatchObject({
      MessageId: 'ResourceEvent.1.4.ResourceChanged',
      Message: 'A resource was changed. IndicatorLED Blinking.',
      OriginAddress: 'http://127.0.0.1',
    });
    await host.virsh('undefine', 'dummy');
    await until('the removal', () => keysOf(stream.records()).includes('ResourceRemoved'));
    // libvirt's own event for the PATCH would have arrived before ResourceRemoved.
    expect(keysOf(stream.records())).toEqual([
      'ResourceCreated',
      'ResourceChanged',
      'ResourceChanged',
      'ResourceRemoved',
    ]);
    stream.close();
  });

  it('report a changed definition only after the end of a running edit, but a start during the edit', async () => {
    // `ChangeFeed` waits for the edit, so that the event of the client that made the edit comes first.
    await host.virsh('undefine', 'dummy').catch(() => undefined);
    await define('first');
    const parts = host.parts();
    let events = 0;
    const feed = new ChangeFeed({ host: parts, isStarting: () => false, onEvent: () => (events += 1) });
    const kinds: string[] = [];
    feed.onChange(({ kind }) => void kinds.push(kind));
    feed.start();
    await parts.queue.edit(uuid, async () => {
      // The feed may subscribe after the first definition, so the test defines until two events have arrived.
      await until('two events of the edit', async () => {
        await define('second');
        return events >= 2;
      });
      await host.virsh('start', 'dummy');
      await until('the start', () => kinds.includes('started'));
      expect(kinds).toEqual(['started']);
    });
    expect(kinds).toEqual(['started', 'changed']);
    await host.virsh('destroy', 'dummy');
    await until('the stop', () => kinds.includes('stopped'));
  });

  it('report the end of a transient machine, whose log is then removed', async () => {
    const transient = '00000000-0000-4000-8000-00000000007a';
    lab = await openLab(driver, folder.path);
    const uri = `/redfish/v1/Systems/${transient}`;
    const stream = await openStream(lab.client, `?$filter=${encodeURIComponent(`OriginResource eq '${uri}'`)}`);
    const file = join(folder.path, 'transient.xml');
    writeFileSync(
      file,
      `<domain type='test'><name>passing</name><uuid>${transient}</uuid><memory unit='MiB'>64</memory>` +
        `<os><type arch='x86_64'>hvm</type></os></domain>`,
    );
    await host.virsh('define', file);
    await host.virsh('start', 'passing');
    await until('the start', () => keysOf(stream.records()).includes('ResourcePoweredOn'));
    await host.virsh('undefine', 'passing');
    await until('the change', () => keysOf(stream.records()).includes('ResourceChanged'));
    expect((await lab.client.get(uri)).status).toBe(200);
    await host.virsh('destroy', 'passing');
    await until('the removal', () => keysOf(stream.records()).includes('ResourceRemoved'));
    expect(keysOf(stream.records())).toEqual([
      'ResourceCreated',
      'ResourcePoweredOn',
      'ResourceChanged',
      'ResourcePoweredOff',
      'ResourceRemoved',
    ]);
    const [logs = ''] = readdirSync(folder.path).filter((name) => name.startsWith('logs-'));
    await until('the end of its log', () => !readdirSync(join(folder.path, logs)).includes(`${transient}.jsonl`));
    const before = stream.records().length;
    await host.virsh('create', file);
    await until('the start without a definition', () =>
      keysOf(stream.records()).slice(before).includes('ResourcePoweredOn'),
    );
    expect(keysOf(stream.records()).slice(before)[0]).toBe('ResourceCreated');
    await host.virsh('destroy', 'passing');
    await until('the removal of the machine', () => keysOf(stream.records()).slice(before).includes('ResourceRemoved'));
    stream.close();
  });
});

describe('events of QEMU', () => {
  let host: TestHost;
  let driver: CompleteDriver;

  beforeAll(async () => {
    host = await TestHost.start('qemu');
    driver = await host.driver();
  });
  afterAll(() => host.stop());

  it('report a PATCH of four members once, with its user, whether the machine runs or not', async () => {
    const guest = await host.guest({ cdrom: await host.drive('cd') });
    const path = `/redfish/v1/Systems/${guest.uuid}`;
    lab = await openLab(driver, folder.path, { access: accessWithAccount(join(folder.path, 'users')) });
    const headers = { Authorization: `Basic ${Buffer.from('admin:secret').toString('base64')}` };
    const stream = await openStream(lab.client, '', headers);
    const patch = async (uri: string, body: object): Promise<void> => {
      expect((await lab?.client.send('PATCH', uri, { headers, body }))?.status).toBe(200);
    };
    const changes = () =>
      stream
        .records()
        .filter(({ MessageId }) => String(MessageId).endsWith('.ResourceChanged'))
        .map(({ Message, Username, OriginOfCondition }) => [
          String(Message).replace('A resource was changed. ', ''),
          Username,
          (OriginOfCondition as Body)['@odata.id'], // Every event of the feed has an origin.
        ]);
    const four = 'AssetTag shelf 1, Boot.BootSourceOverrideEnabled Once, Boot.BootSourceOverrideTarget Cd, ';
    const parts = {
      AssetTag: 'shelf 1',
      Boot: { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Cd' },
      IndicatorLED: 'Blinking',
      PowerRestorePolicy: 'AlwaysOn',
    };
    const expected: unknown[] = [];
    for (const state of ['off', 'running']) {
      if (state === 'running') {
        // Within 500 ms, the end of the one-time boot would count as a part of the client's change.
        await sleep(1_000);
        await driver.power(guest.uuid, 'create');
        await guest.serial.reaches(2);
        // The guest has used its one-time boot.
        expected.push(['The definition or the devices of the machine changed.', undefined, path]);
        await until('the end of the override', () => changes().length === expected.length);
      }
      await patch(path, parts);
      expected.push([`${four}IndicatorLED Blinking, PowerRestorePolicy AlwaysOn.`, 'admin', path]);
    }
    await patch(`${path}/Bios/Settings`, { Attributes: { QuietBoot: false } });
    expected.push(['Attributes.QuietBoot.', 'admin', `${path}/Bios/Settings`]);
    // libvirt sends events in order, and the feed delays each of them by the same time. So the event of this
    // eject is published after all earlier events of the machine.
    await host.virsh('change-media', guest.name, 'sda', '--eject', '--live');
    expected.push(['An image was inserted or ejected.', undefined, `${path}/VirtualMedia`]);
    await until('the eject', () => changes().some(([message]) => message === 'An image was inserted or ejected.'));
    expect(changes()).toEqual(expected);
    stream.close();
    await driver.power(guest.uuid, 'destroy');
    await host.virsh('autostart', guest.name, '--disable');
  });

  it('report a pause, a reset, the end of a killed QEMU, and a start after libvirtd was killed', async () => {
    const guest = await host.guest();
    lab = await openLab(driver, folder.path);
    const path = `/redfish/v1/Systems/${guest.uuid}`;
    const stream = await openStream(lab.client, `?$filter=${encodeURIComponent(`OriginResource eq '${path}'`)}`);
    const eventTexts = () =>
      stream
        .records()
        .filter(({ MessageId }) => !String(MessageId).endsWith('ResourceChanged'))
        .map(({ Message }) => String(Message));
    const reset = (type: string) => lab?.post(`${path}/Actions/ComputerSystem.Reset`, { ResetType: type });
    // For a one-time boot the driver starts the guest paused and resumes it, which is no event for
    // clients.
    await lab.client.send('PATCH', path, {
      body: { Boot: { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' } },
    });
    expect((await reset('On'))?.status).toBe(204);
    await until('the start', () => eventTexts().length >= 1);
    await guest.serial.reaches(2);
    await host.virsh('suspend', guest.name);
    await host.virsh('resume', guest.name);
    await host.virsh('reset', guest.name);
    await until('the reset', () => eventTexts().length >= 4);
    // Waits for the boot after the reset. libvirt has then reported all resets of the firmware.
    await guest.serial.reaches(3);
    process.kill(await host.libvirtd.guestPid(guest.name), 'SIGKILL');
    await until('the end', () => /powered off|health/.test(eventTexts().at(-1) ?? ''));
    const name = guest.name;
    expect(eventTexts().filter((text) => text.includes('was reset'))).toHaveLength(1);
    expect(eventTexts().slice(0, 4)).toEqual([
      `'${name}' was powered on.`,
      `'${name}' was paused.`,
      `'${name}' is now in the state Enabled. The machine resumed.`,
      `'${name}' is now in the state Starting. The machine was reset.`,
    ]);
    const before = eventTexts().length;
    // The driver may reconnect before or after the start.
    await host.libvirtd.stopDaemon('SIGKILL');
    await host.libvirtd.start();
    await host.virsh('start', guest.name);
    await until('the start', () =>
      eventTexts()
        .slice(before)
        .some((text) => text.startsWith(`'${name}' was powered on.`)),
    );
    stream.close();
  });

  it('report a forced power-off of a QEMU that hangs, which becomes a task and ends with the machine off', async () => {
    const guest = await host.guest();
    // A read of the machine waits this long for a QEMU that hangs.
    const quick = await host.driver({ diskSizeWaitMs: 1_000 });
    lab = await openLab(quick, folder.path, { waitMs: 300 });
    const path = `/redfish/v1/Systems/${guest.uuid}`;
    await quick.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    const pid = await host.libvirtd.guestPid(guest.name);
    process.kill(pid, 'SIGSTOP');
    const answer = await lab.post(`${path}/Actions/ComputerSystem.Reset`, { ResetType: 'ForceOff' });
    expect([answer.status, answer.json]).toEqual([
      202,
      expect.objectContaining({ Name: `ForceOff of ${guest.name}`, TaskState: 'Running' }),
    ]);
    const monitor = answer.headers.location ?? '';
    const refused = await lab.client.send('DELETE', monitor);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('cannot be cancelled')]);
    const at = lab;
    // Without this signal, libvirt would need about 12 s to end the process.
    process.kill(pid, 'SIGCONT');
    await until('the end', async () => (await at.client.get(monitor)).status !== 202);
    expect((await lab.client.get(monitor)).status).toBe(204);
    expect((await lab.get(path))['PowerState']).toBe('Off');
    await until('the log', async () => (await logOf(at, `${path}/LogServices/EventLog`)).length >= 4);
    const logged = await logOf(lab, `${path}/LogServices/EventLog`);
    expect(logged.map((text) => text.replace(/[0-9a-f-]{36}/, 'ID'))).toEqual(
      expect.arrayContaining([
        `The task ID has started. ForceOff of ${guest.name}.`,
        `'${guest.name}' was powered off. Destroyed.`,
        `The task ID has completed. ForceOff of ${guest.name}.`,
      ]),
    );
  });
});
