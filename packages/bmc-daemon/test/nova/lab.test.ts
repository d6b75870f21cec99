/**
 * Tests the daemon with a real OpenStack: list, inventory and power, as Redfish clients see them. Also tests
 * failures of Nova, Keystone and Neutron.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { daemonFixture } from '../daemon/fixture.js';
import { waitFor, type DaemonProcess } from '../daemon/process.js';
import { describeLab, labCloud, labFile, openOwner, withLab, type LabOwner } from './lab.js';
import { send, type Body } from './redfish-client.js';
import { describeSerialConsole } from './serial/serial-lab.js';
import { answerWith, startRelay, type Fault, type Relay } from './relay.js';

const systems = '/redfish/v1/Systems';
const read = async (url: string, path: string): Promise<Body> => (await send(url, 'GET', path)).body;
const powerState = async (url: string, name: string) => (await read(url, `${systems}/${name}`))['PowerState'];
const reset = (url: string, name: string, type: string) =>
  send(url, 'POST', `${systems}/${name}/Actions/ComputerSystem.Reset`, { ResetType: type });

/** Runs `work`, and returns how many seconds it took. */
async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1000;
}

/** Returns the names of the machines that the daemon serves. */
async function namesOf(url: string): Promise<readonly unknown[]> {
  const { Members: members } = await read(url, `${systems}?$expand=.`);
  return (members as Body[]).map((member) => member['Name']).sort(); // Every collection has this list.
}

withLab('--serial-consoles');
describeSerialConsole();

describeLab('a daemon that serves a cloud', () => {
  const { start } = daemonFixture();
  let owner: LabOwner;
  beforeAll(() => {
    owner = openOwner();
  });
  afterAll(() => owner.session.close());

  const serve = (file: string, variables: Readonly<Record<string, string>> = {}): DaemonProcess =>
    start(['--os-cloud', 'lab', '-i', '127.0.0.1', '-p', '0'], {
      env: { OS_CLIENT_CONFIG_FILE: file, EMULATOR_TASK_AFTER_SECONDS: '1', ...variables },
    });

  it("serves the cloud's servers with processors, memory and interfaces", async () => {
    const url = await serve(labFile()).address();
    const { id } = await owner.server('lab-1');
    expect(await namesOf(url)).toEqual(expect.arrayContaining(['lab-1', 'lab-2']));
    expect(await read(url, `${systems}/lab-1`)).toMatchObject({
      Id: id,
      UUID: id,
      Name: 'lab-1',
      ProcessorSummary: { Count: 1 },
      MemorySummary: { TotalSystemMemoryGiB: 0.063 },
    });
    const { Members: members } = await read(url, `${systems}/${id}/EthernetInterfaces`);
    const [link] = members as Body[]; // Every collection has this list.
    expect(await read(url, String(link?.['@odata.id']))).toMatchObject({
      MACAddress: expect.stringMatching(/^fa:16:3e:/),
      LinkStatus: expect.stringMatching(/^Link/),
    });
    expect(await read(url, `${systems}/lab-2/EthernetInterfaces`)).toMatchObject({ Members: [] });
    expect((await send(url, 'GET', `${systems}/00000000-0000-4000-8000-000000000000`)).status).toBe(404);
  });

  it('shows the local disk of a server, and its volumes with size and name', async () => {
    const url = await serve(labFile()).address();
    const volume = await owner.createVolume('data');
    const { image } = await owner.server('lab-2');
    const disk = { uuid: image.id, source_type: 'image', destination_type: 'local', boot_index: 0 };
    const data = { uuid: volume, source_type: 'volume', destination_type: 'volume', boot_index: -1 };
    const id = await owner.create('disks-1', {
      block_device_mapping_v2: [disk, { ...data, delete_on_termination: true }],
    });
    try {
      const storage = `${systems}/${id}/Storage`;
      expect(await read(url, `${storage}/local/Drives/root`)).toMatchObject({ CapacityBytes: 2 ** 30 });
      expect(await read(url, `${storage}/volume/Volumes/${volume}`)).toMatchObject({
        Name: 'data',
        CapacityBytes: 2 ** 30,
      });
      expect(await read(url, `${storage}/volume/Drives/${volume}`)).toMatchObject({ SerialNumber: volume });
    } finally {
      await owner.remove(id);
    }
  });

  it("shows Nova's console output and instance actions", async () => {
    const url = await serve(labFile()).address();
    await owner.act('lab-2', undefined, (await owner.server('lab-2')).vmState);
    await reset(url, 'lab-2', 'On');
    const logs = `${systems}/${(await owner.server('lab-2')).id}/LogServices`;
    const entries = async (log: string) => (await read(url, `${logs}/${log}/Entries`))['Members'] as Body[]; // Every collection has this list.
    await waitFor(
      async () =>
        (await entries('ConsoleLog')).some(({ Message }) => Message === 'rackless guest') ? true : undefined,
      () => 'the output of the guest did not appear',
    );
    const attachment = await fetch(`${url}${logs}/ConsoleLog/Entries/1/attachment`);
    expect([attachment.headers.get('content-type'), await attachment.text()]).toEqual([
      'text/plain; charset=utf-8',
      expect.stringContaining('rackless guest'),
    ]);
    expect((await entries('ActionLog'))[0]).toMatchObject({ Name: 'Action create', Severity: 'OK' });
  });

  it('keeps an asset tag across a restart, and reports counters from the diagnostics of a running server', async () => {
    const first = serve(labFile());
    const tag = 'rack "7" 架 😀';
    expect((await send(await first.address(), 'PATCH', `${systems}/lab-1`, { AssetTag: tag })).status).toBe(200);
    await first.dispose();
    const url = await serve(labFile()).address();
    expect(await read(url, `${systems}/lab-1`)).toMatchObject({ AssetTag: tag });
    expect((await send(url, 'PATCH', `${systems}/lab-1`, { AssetTag: null })).status).toBe(200);
    await owner.act('lab-1', undefined, 'active');
    const report = '/redfish/v1/TelemetryService/MetricReports/lab-1';
    const values = await waitFor(
      async () => {
        const { MetricValues: all = [] } = await read(url, report);
        const ids = (all as { readonly MetricId: string }[]).map(({ MetricId: id }) => id); // Every value has an id.
        return ids.includes('CPUUtilization') ? ids : undefined;
      },
      () => 'the report of lab-1 does not have the load of its processors',
    );
    expect(values).toEqual(expect.arrayContaining(['DiskReadBytes', 'DiskReadRate', 'NetworkReceivedBytes']));
    await owner.act('lab-2', { 'os-stop': null }, 'stopped');
    expect(await read(url, report.replace('lab-1', 'lab-2'))).toMatchObject({ MetricValues: [] });
    await owner.act('lab-2', { 'os-start': null }, 'active');
  });

  it('returns the URL of a graphical console', async () => {
    const url = await serve(labFile()).address();
    await owner.act('lab-2', undefined, (await owner.server('lab-2')).vmState);
    await reset(url, 'lab-2', 'On');
    await waitFor(
      async () => ((await read(url, `${systems}/lab-2`))['GraphicalConsole'] === undefined ? undefined : true),
      () => 'lab-2 shows no graphical console',
    );
    const path = `${systems}/lab-2/Actions/Oem/RacklessComputerSystem.OpenConsole`;
    const { status, body } = await send(url, 'POST', path);
    expect([status, body]).toEqual([
      200,
      { Url: expect.stringMatching(/^http.*token/), Protocol: 'vnc', Type: 'novnc' },
    ]);
  });

  it('executes ten reset types, and answers all but the graceful ones when the state has changed', async () => {
    await owner.act('lab-1', undefined, (await owner.server('lab-1')).vmState);
    const url = await serve(labFile()).address();
    await reset(url, 'lab-1', 'On');
    const steps: readonly (readonly [type: string, state: string, vmState: string])[] = [
      ['ForceOff', 'Off', 'stopped'],
      ['On', 'On', 'active'],
      ['ForceRestart', 'On', 'active'],
      ['Nmi', 'On', 'active'],
      ['Pause', 'Paused', 'paused'],
      ['Resume', 'On', 'active'],
      ['Suspend', 'Off', 'suspended'],
      ['On', 'On', 'active'],
      ['PowerCycle', 'On', 'active'],
    ];
    for (const [type, state, vmState] of steps) {
      expect([type, (await reset(url, 'lab-1', type)).status]).toEqual([type, 204]);
      expect([type, await powerState(url, 'lab-1')]).toEqual([type, state]);
      expect([type, (await owner.server('lab-1')).vmState]).toEqual([type, vmState]);
    }
    for (const [type, state] of [
      ['GracefulRestart', 'On'],
      ['GracefulShutdown', 'Off'],
    ] as const) {
      expect([type, (await reset(url, 'lab-1', type)).status]).toEqual([type, 204]);
      const seen = new Set<unknown>();
      await waitFor(
        async () => {
          const present = await powerState(url, 'lab-1');
          seen.add(present);
          return present === state && (await owner.server('lab-1')).task === null ? true : undefined;
        },
        () => `lab-1 is not ${state} after ${type}`,
      );
      for (const value of seen) expect(['On', 'Off', 'PoweringOn', 'PoweringOff']).toContain(value);
    }
    for (const type of ['GracefulShutdown', 'Nmi', 'Pause']) {
      expect([type, (await reset(url, 'lab-1', type)).status]).toEqual([type, 409]);
    }
    expect((await reset(url, 'lab-1', 'ForceRestart')).status).toBe(204);
    expect(await powerState(url, 'lab-1')).toBe('On');
  });

  it('waits at a power-off for the time that the image named when Nova created the server', async () => {
    const url = await serve(labFile()).address();
    // The guest does not react to the power button, so Nova always waits for the whole time.
    const properties = { disk_format: 'raw', os_shutdown_timeout: '20' };
    const imageRef = await owner.createImage('slow-to-stop', properties, Buffer.alloc(1024 * 1024));
    const ids: string[] = [];
    const secondsOff = async (name: string): Promise<number> => {
      ids.push(await owner.create(name, { imageRef }));
      return await secondsOf(async () => expect((await reset(url, ids.at(-1) ?? '', 'ForceOff')).status).toBe(204));
    };
    try {
      expect(await secondsOff('slow')).toBeGreaterThan(20);
      await owner.setImageProperty(imageRef, 'os_shutdown_timeout', '0');
      const fast = await secondsOff('fast');
      // The existing server still has the time from its creation.
      expect((await reset(url, ids[0] ?? '', 'On')).status).toBe(204);
      const slow = await secondsOf(() => reset(url, ids[0] ?? '', 'ForceOff'));
      expect([fast < 20, slow > 20, fast < slow]).toEqual([true, true, true]);
      expect(await powerState(url, ids[0] ?? '')).toBe('Off');
    } finally {
      for (const id of ids) await owner.remove(id);
    }
  });

  it('answers 503 while Neutron is silent, because Nova then answers no reads of servers, and recovers', async () => {
    const url = await serve(labFile(), { EMULATOR_OS_TIMEOUT_SECONDS: '10' }).address();
    const { id } = await owner.server('lab-1');
    await owner.act('lab-1', undefined, (await owner.server('lab-1')).vmState);
    await reset(url, id, 'On');
    const before = await owner.server('lab-1');
    const neutron = Number.parseInt(readFileSync(join(dirname(labFile()), 'run/neutron.pid'), 'utf8'), 10);
    process.kill(neutron, 'SIGSTOP');
    try {
      for (const path of ['', '/EthernetInterfaces']) {
        const { status, retryAfter } = await send(url, 'GET', `${systems}/${id}${path}`);
        expect([path, status, retryAfter]).toEqual([path, 503, '5']);
      }
      expect((await reset(url, id, 'ForceOff')).status).toBe(503);
      expect((await send(url, 'GET', '/redfish/v1')).status).toBe(200);
    } finally {
      process.kill(neutron, 'SIGCONT');
    }
    await waitFor(
      async () => ((await powerState(url, id)) === 'On' ? true : undefined),
      () => 'the daemon did not recover',
    );
    // The reset that got 503 sent no action.
    expect(await owner.server('lab-1')).toEqual(before);
    expect((await reset(url, id, 'ForceOff')).status).toBe(204);
    expect((await reset(url, id, 'On')).status).toBe(204);
  });

  it('shows changes that the owner makes directly, and rejects actions that the state does not allow', async () => {
    const url = await serve(labFile()).address();
    await owner.act('lab-2', undefined, (await owner.server('lab-2')).vmState);
    await reset(url, 'lab-2', 'On');
    await owner.act('lab-2', { pause: null }, 'paused');
    await waitFor(
      async () => ((await powerState(url, 'lab-2')) === 'Paused' ? true : undefined),
      () => 'lab-2 is not shown as paused',
    );
    const { status, body } = await reset(url, 'lab-2', 'ForceOff');
    expect([status, JSON.stringify(body)]).toEqual([409, expect.stringContaining('while it is in vm_state paused')]);
    await owner.act('lab-2', { unpause: null }, 'active');
  });

  it('shows a new server that meets the filter, and drops a deleted one', async () => {
    const url = await serve(labFile(), {
      EMULATOR_OS_FILTER: "{'metadata': {'role': 'guest'}, 'name': 'extra-*'}",
    }).address();
    expect(await namesOf(url)).toEqual([]);
    const id = await owner.create('extra-1', { metadata: { role: 'guest' } });
    try {
      await waitFor(
        async () => ((await namesOf(url)).includes('extra-1') ? true : undefined),
        () => 'extra-1 did not appear',
      );
      expect((await send(url, 'GET', `${systems}/lab-1`)).status).toBe(404);
      expect((await send(url, 'GET', `${systems}/${(await owner.server('lab-1')).id}`)).status).toBe(404);
    } finally {
      await owner.remove(id);
    }
    await waitFor(
      async () => ((await namesOf(url)).length === 0 ? true : undefined),
      () => 'extra-1 did not disappear',
    );
    expect((await send(url, 'GET', `${systems}/${id}`)).status).toBe(404);
  });
});

describeLab('a daemon that serves a faulty cloud', () => {
  const { at, start } = daemonFixture();
  let relay: Relay;
  let url = '';
  let daemon: DaemonProcess;

  /** Starts a relay in front of Nova, and a daemon that uses this relay. */
  const serve = async (): Promise<void> => {
    const owner = openOwner();
    const version = await owner.session.request({ method: 'GET', path: '/' });
    const { links } = (JSON.parse(version.text) as { readonly version: { readonly links: { href: string }[] } })
      .version; // Nova sends this object.
    owner.session.close();
    relay = await startRelay(labCloud(), { nova: (links[0]?.href ?? '').replace(/\/$/, '') });
    writeFileSync(at('clouds.json'), relay.clouds);
    daemon = start(['--os-cloud', 'lab', '-i', '127.0.0.1', '-p', '0'], {
      env: { OS_CLIENT_CONFIG_FILE: at('clouds.json'), EMULATOR_OS_TIMEOUT_SECONDS: '15' },
    });
    url = await daemon.address();
  };
  /** Reads the first server by its UUID, so that the daemon reads it from Nova. */
  const readServer = async () => {
    const { Members: members } = await read(url, systems);
    const [link] = members as Body[]; // Every collection has this list.
    return await send(url, 'GET', String(link?.['@odata.id']));
  };
  const isServerRead: (request: Parameters<Fault>[0]) => boolean = ({ url: path = '' }) =>
    path.startsWith('/nova/servers');

  it('retries a read after a rejected token, a 429 with Retry-After and an incomplete answer', async () => {
    await serve();
    const faults = [
      answerWith(401, {}, 'Authentication required'),
      answerWith(429, { 'retry-after': '1' }),
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': 5000 }).write('{"servers": [');
        setImmediate(() => response.destroy());
      },
    ];
    relay.fault = (request) => (isServerRead(request) ? faults.shift() : undefined);
    expect((await read(url, `${systems}/lab-1`))['Id']).toMatch(/^[0-9a-f-]{36}$/);
    expect((await readServer()).status).toBe(200);
    expect(faults).toHaveLength(0);
    await relay.down();
  });

  it('answers 503 while Nova is down or silent or Keystone fails, and recovers without a restart', async () => {
    await serve();
    const expectBusy = async (): Promise<void> => {
      const answer = await waitFor(
        async () => {
          const found = await send(url, 'GET', systems);
          return found.status === 200 ? undefined : found;
        },
        () => 'the daemon answers without the cloud',
      );
      expect([answer.status, answer.retryAfter]).toEqual([503, '5']);
      expect((await send(url, 'GET', '/redfish/v1')).status).toBe(200);
    };
    const expectRecovery = async (): Promise<void> => {
      relay.fault = () => undefined;
      await waitFor(
        async () => ((await send(url, 'GET', systems)).status === 200 ? true : undefined),
        () => 'the daemon did not recover',
      );
    };
    const down = answerWith(503, { 'retry-after': '600' }, '<h1>down</h1>');
    relay.fault = (request) => (isServerRead(request) ? down : undefined);
    await expectBusy();
    await expectRecovery();
    const noAnswer = (): void => undefined;
    relay.fault = (request) => (isServerRead(request) ? noAnswer : undefined);
    await expectBusy();
    await expectRecovery();
    // Nova rejects the token, and Keystone issues no other token.
    relay.fault = (request) => answerWith(isServerRead(request) ? 401 : 500);
    await expectBusy();
    await expectRecovery();
    await relay.down();
    await expectBusy();
    await relay.up();
    await expectRecovery();
    expect(daemon.stdout).not.toContain(String(labCloud().credentials.secrets[0]));
    await relay.down();
  });

  it('answers 503 to an action if Nova has another task or answers 504, and does not repeat an action after a 504', async () => {
    await serve();
    const id = String((await read(url, `${systems}/lab-2`))['Id']);
    const message = `Cannot 'trigger_crash_dump' instance ${id} while it is in task_state rebooting`;
    const conflict = JSON.stringify({ conflictingRequest: { code: 409, message } });
    const rejected = answerWith(409, { 'content-type': 'application/json' }, conflict);
    relay.fault = ({ method }) => (method === 'POST' ? rejected : undefined);
    const busy = await reset(url, 'lab-2', 'Nmi');
    expect([busy.status, busy.retryAfter, JSON.stringify(busy.body)]).toEqual([
      503,
      '5',
      expect.stringContaining('task_state'),
    ]);
    relay.seen.length = 0;
    relay.fault = ({ method }) => (method === 'POST' ? answerWith(504) : undefined);
    expect((await reset(url, 'lab-2', 'Nmi')).status).toBe(503);
    expect(relay.seen.filter((line) => line.startsWith('POST'))).toHaveLength(1);
    await relay.down();
  });
});
