/** Contract, several hosts: a daemon in front of real libvirtds with libvirt's test driver. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { daemonFixture } from '../daemon/fixture.js';
import type { DaemonProcess } from '../daemon/process.js';
import { LabHost, until, uuidOf } from '../hosts/hosts-lab.js';

interface System {
  readonly Name: string;
  readonly PowerState: string;
  readonly Status: {
    readonly State: string;
    readonly Health: string;
    readonly Conditions?: readonly { Message: string }[];
  };
  readonly Members: readonly { readonly '@odata.id': string }[];
}

interface EventRecord {
  readonly MessageId: string;
  readonly OriginOfCondition?: { readonly '@odata.id': string };
}

/** Returns the events of a stream. */
async function* eventsOf(stream: Response): AsyncGenerator<EventRecord, void> {
  let text = '';
  for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (text + chunk).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines.filter((each) => each.startsWith('data: '))) {
      yield* (JSON.parse(line.slice(6)) as { Events: readonly EventRecord[] }).Events; // The service sends events.
    }
  }
}

const [web, db, far] = [1, 2, 3].map(uuidOf) as [string, string, string];
const systems = '/redfish/v1/Systems';

describe('several hosts', () => {
  const { start, config } = daemonFixture();
  let left: LabHost;
  let right: LabHost;
  let other: LabHost;
  let daemon: DaemonProcess;
  let url: string;

  /** Writes the configuration with these hosts. @returns the path of the file. */
  const writeConfig = (...hosts: readonly LabHost[]): string =>
    config(
      [
        `EMULATOR_LIBVIRT_URI = {${hosts.map(({ name, uri }) => `'${name}': '${uri}'`).join(', ')}}`,
        "EMULATOR_LISTEN_IP = '127.0.0.1'",
        'EMULATOR_LISTEN_PORT = 0',
        'EMULATOR_SHUTDOWN_WAIT_SECONDS = 0',
        'EMULATOR_LIBVIRT_TIMEOUT_SECONDS = 8',
        '',
      ].join('\n'),
    );
  const get = async (path: string): Promise<System> => {
    const response = await fetch(url + path);
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as System; // The service sends a system.
  };
  const members = async (): Promise<readonly string[]> =>
    (await get(systems)).Members.map((member) => member['@odata.id'].slice(-36));
  const reset = (uuid: string, type: string): Promise<Response> =>
    fetch(`${url}${systems}/${uuid}/Actions/ComputerSystem.Reset`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ResetType: type }),
    });
  const reaches = (uuid: string, state: string): Promise<void> =>
    until(`the machine to be ${state}`, async () => (await get(`${systems}/${uuid}`)).Status.State === state);

  beforeAll(async () => {
    [left, right, other] = (await Promise.all(['left', 'right', 'other'].map((name) => LabHost.start(name)))) as [
      LabHost,
      LabHost,
      LabHost,
    ];
    for (const host of [left, right, other]) await host.removeDefaultMachine();
    await left.define({ uuid: web, name: 'web' });
    await right.define({ uuid: db, name: 'db' });
    await other.define({ uuid: far, name: 'far' });
  });
  afterAll(async () => {
    await Promise.all([left, right, other].map((host) => host.stop()));
  });
  beforeEach(async () => {
    daemon = start(['--config', writeConfig(left, right)]);
    url = await daemon.address();
    await until('the machines of both hosts', async () => (await members()).length === 2);
  });

  it('RF-80 the collections have the machines of all hosts, and a URI does not contain the host', async () => {
    expect(await members()).toEqual([web, db]);
    expect((await get(`${systems}/db`)).Name).toBe('db');
    expect((await reset(db, 'On')).status).toBe(204);
    expect(await right.virsh('domstate', 'db')).toContain('running');
    expect((await reset(db, 'ForceOff')).status).toBe(204);
    // The machine moves, and its URI does not change.
    await left.define({ uuid: db, name: 'db', title: 'moved' });
    await right.virsh('undefine', 'db');
    await daemon.waitForLog(/^host left: connected to libvirt test/);
    await until('the new host', async () => (await get(`${systems}/${db}`)).Status.Health === 'OK');
    expect(await members()).toEqual([web, db]);
    expect((await reset(db, 'On')).status).toBe(204);
    expect(await left.virsh('domstate', 'db')).toContain('running');
    await left.virsh('destroy', 'db');
    await left.virsh('undefine', 'db');
    await right.define({ uuid: db, name: 'db' });
  });

  it('RF-81 a UUID that two hosts have is one machine with Health Warning, and a condition names both hosts', async () => {
    await right.define({ uuid: web, name: 'web' });
    await until('the warning', async () => (await get(`${systems}/${web}`)).Status.Health === 'Warning');
    expect(await members()).toEqual([web, db]);
    const { Conditions: [condition] = [] } = (await get(`${systems}/${web}`)).Status;
    expect(condition?.Message).toContain('Hosts left and right have a machine with this UUID.');
    await right.virsh('undefine', 'web');
    await until('no warning', async () => (await get(`${systems}/${web}`)).Status.Health === 'OK');
  });

  it('RF-82 machines of a host that does not answer stay, with UnavailableOffline and 503 for changes', async () => {
    expect((await get(`${systems}/${web}`)).PowerState).toBe('Off');
    left.relay.stall();
    await reaches(web, 'UnavailableOffline');
    expect(await members()).toEqual([web, db]);
    const { PowerState: power, Status: status } = await get(`${systems}/${web}`);
    expect([power, status.Health]).toEqual(['Off', 'Warning']);
    expect(status.Conditions?.[0]?.Message).toContain('Host left does not answer');
    for (const refused of [
      await reset(web, 'On'),
      await fetch(`${url}${systems}/${web}`, {
        method: 'PATCH',
        headers: { 'Content-Type': 'application/json' },
        body: '{"AssetTag": "x"}',
      }),
    ]) {
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(url)).status).toBe(200);
    expect((await reset(db, 'On')).status).toBe(204);
    expect((await reset(db, 'ForceOff')).status).toBe(204);
    // A restart of the daemon does not lose the machines of the host that does not answer.
    daemon.signal('SIGTERM');
    await daemon.waitForExit();
    daemon = start(['--config', writeConfig(left, right)]);
    url = await daemon.address();
    await reaches(web, 'UnavailableOffline');
    expect(await members()).toEqual([web, db]);
    expect((await get(`${systems}/${web}`)).PowerState).toBe('Off');
    left.relay.resume();
    await reaches(web, 'Enabled');
    expect((await reset(web, 'On')).status).toBe(204);
    expect((await reset(web, 'ForceOff')).status).toBe(204);
  });

  it('RF-88 events report that a host is lost, answers again, is added or removed', async () => {
    const stream = await fetch(`${url}/redfish/v1/EventService/SSE`);
    const events = eventsOf(stream);
    const nextEvent = async (key: string, host: LabHost): Promise<unknown> => {
      const origin = `/redfish/v1/Chassis/${host.name}`;
      for (;;) {
        // `for await` would close the stream at the end of the loop.
        const result: IteratorResult<EventRecord, void> = await events.next();
        if (result.done === true) throw new Error('the stream ended');
        const { MessageId: id, OriginOfCondition: at } = result.value;
        if (id === `ResourceEvent.1.4.${key}` && at?.['@odata.id'] === origin) return result.value;
      }
    };
    left.relay.stall();
    expect(await nextEvent('ResourceStatusChangedCritical', left)).toMatchObject({
      MessageArgs: ['left', 'Critical'],
      Message: expect.stringMatching(
        /^The health of 'left' is now Critical\. The host does not answer: .+\.$/,
      ) as unknown,
    });
    left.relay.resume();
    expect(await nextEvent('ResourceStatusChangedOK', left)).toMatchObject({ MessageArgs: ['left', 'OK'] });
    writeConfig(left, other);
    daemon.signal('SIGHUP');
    await nextEvent('ResourceRemoved', right);
    await nextEvent('ResourceCreated', other);
    await stream.body?.cancel().catch(() => undefined);
  });

  it('RF-83 a reload adds and removes hosts, and does not reconnect the others', async () => {
    // Opens the connection for changes of this host now, so that `accepted` contains it.
    expect((await reset(web, 'On')).status).toBe(204);
    await get(`${systems}/${web}`);
    const { accepted } = left.relay;
    writeConfig(left, other);
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/^configuration reloaded: EMULATOR_LIBVIRT_URI$/);
    await daemon.waitForLog(/^host other was added$/);
    await daemon.waitForLog(/^host right was removed$/);
    await until('the machines of the new host', async () => (await members()).includes(far));
    expect(await members()).toEqual([web, far]);
    expect((await fetch(`${url}${systems}/${db}`)).status).toBe(404);
    expect((await reset(far, 'On')).status).toBe(204);
    expect((await reset(far, 'ForceOff')).status).toBe(204);
    expect((await reset(web, 'ForceOff')).status).toBe(204);
    expect(left.relay.accepted).toBe(accepted);
    writeConfig(left);
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/^host other was removed$/);
    expect(await members()).toEqual([web]);
    // A wrong entry changes nothing, and the log names it.
    config(`EMULATOR_LIBVIRT_URI = {'left': '${left.uri}', 'bad': 'nonsense'}\n`);
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/EMULATOR_LIBVIRT_URI\['bad'\] cannot be used: reading the connection URI "nonsense"/);
    expect(await members()).toEqual([web]);
  });
});
