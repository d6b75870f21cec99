/** Runs the command `sushy-emulator` with configurations like those of metal3's projects. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { daemonFixture } from './fixture.js';
import { run, waitFor } from './process.js';

const uuid = '27946b59-9e44-4fa7-8e91-f3527a1ef094';

/** A fake deploy agent with the requests that it received, in order. */
interface Agent {
  readonly url: string;
  readonly received: readonly Record<string, unknown>[];
  readonly server: Server;
}

async function startAgent(): Promise<Agent> {
  const received: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      received.push({ method: request.method, ...(JSON.parse(body) as object) }); // the test compares it with an object
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
  return { url: `http://127.0.0.1:${port}`, received, server };
}

describe('sushy-emulator', () => {
  const fixture = daemonFixture();
  let agent: Agent;
  beforeEach(async () => {
    agent = await startAgent();
  });
  afterEach(() => {
    agent.server.close();
    agent.server.closeAllConnections();
  });

  /** Returns a configuration like that of metal3's development environment. */
  const metal3 = (systems: string): string => `import collections

Host = collections.namedtuple('Host', ['hostname', 'port'])

SUSHY_EMULATOR_LIBVIRT_URI = "qemu+ssh://root@192.0.2.1/system?&no_verify=1&no_tty=1"
SUSHY_EMULATOR_IGNORE_BOOT_DEVICE = False
SUSHY_EMULATOR_VMEDIA_VERIFY_SSL = False
SUSHY_EMULATOR_FAKE_DRIVER = True
SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'
SUSHY_EMULATOR_LISTEN_PORT = "0"
EXTERNAL_NOTIFICATION_URL = "${agent.url}"
FAKE_IPA_API_URL = "https://192.0.2.2:6385"
FAKE_IPA_ADVERTISE_ADDRESS = Host(hostname="192.0.2.1", port="9999")
SUSHY_FAKE_IPA_LISTEN_PORT = "9999"
SUSHY_EMULATOR_FAKE_IPA = True
SUSHY_EMULATOR_FAKE_SYSTEMS = ${systems}
`;

  const serve = async (text: string): Promise<string> => {
    const config = fixture.config(text);
    const daemon = fixture.start([], { command: 'sushy-emulator', env: { SUSHY_EMULATOR_CONFIG: config } });
    return daemon.address();
  };
  const get = async (url: string): Promise<Record<string, unknown>> =>
    (await (await fetch(url)).json()) as Record<string, unknown>; // every resource is an object
  const send = async (method: string, url: string, body: object): Promise<number> => {
    const headers = { 'Content-Type': 'application/json' };
    return (await fetch(url, { method, headers, body: JSON.stringify(body) })).status;
  };

  it('serves the fake systems of the file with their names, power states and network cards', async () => {
    const base = await serve(
      metal3(`[
        {'uuid': '${uuid.toUpperCase()}', 'name': 'fake1', 'power_state': 'On', 'boot_device': 'Pxe',
         'nics': [{'mac': '00:5C:52:31:3A:9C', 'ip': '172.22.0.100'}]},
        {"uuid": "11111111-2222-4333-8444-555555555555", "name": "fake2", "power_state": "Off",
         "boot_mode": "Legacy", "nics": []}]`),
    );
    const first = await get(`${base}/redfish/v1/Systems/${uuid}`);
    expect(first).toMatchObject({ Name: 'fake1', UUID: uuid, PowerState: 'On' });
    expect(first['Boot']).toMatchObject({ BootSourceOverrideTarget: 'Pxe', BootSourceOverrideMode: 'UEFI' });
    const card = await get(`${base}/redfish/v1/Systems/${uuid}/EthernetInterfaces/00:5c:52:31:3a:9c`);
    expect(card).toMatchObject({ MACAddress: '00:5c:52:31:3a:9c' });
    const second = await get(`${base}/redfish/v1/Systems/fake2`);
    expect(second).toMatchObject({ PowerState: 'Off', Boot: { BootSourceOverrideMode: 'Legacy' } });
  });

  it('notifies a fake agent of power actions as sushy-tools does', async () => {
    const base = await serve(
      metal3(`[{'uuid': '${uuid}', 'name': 'fake1', 'power_state': 'Off', 'external_notifier': True,
               'nics': [{'mac': '00:5c:52:31:3a:9c', 'ip': '172.22.0.100'}]}]`),
    );
    const system = `${base}/redfish/v1/Systems/${uuid}`;
    const override = { Boot: { BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' } };
    expect(await send('PATCH', system, override)).toBe(200);
    expect(await send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: 'On' })).toBe(204);
    const all = await waitFor(
      () => (agent.received.some((sent) => sent['power_state'] === 'On') ? agent.received : undefined),
      () => JSON.stringify(agent.received),
    );
    const pending = all.find((sent) => sent['pending_power'] !== null);
    expect(pending).toEqual({
      method: 'PUT',
      uuid,
      name: 'fake1',
      power_state: 'Off',
      external_notifier: true,
      nics: [{ mac: '00:5c:52:31:3a:9c', ip: '172.22.0.100' }],
      boot_device: 'Pxe',
      boot_mode: 'UEFI',
      secure_boot: false,
      boot_image: {},
      pending_power: { power_state: 'On', apply_time: expect.any(Number) },
    });
    const applied = all.find((sent) => sent['power_state'] === 'On');
    expect(applied).toMatchObject({ boot_device: 'Pxe', pending_power: null });

    expect(await send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: 'ForceOff' })).toBe(204);
    await waitFor(
      () =>
        agent.received.find(
          (sent) => sent['power_state'] === 'Off' && sent['pending_power'] === null && sent !== all[0],
        ),
      () => JSON.stringify(agent.received),
    );
    expect(
      agent.received.map((sent) => (sent['pending_power'] as { power_state?: string } | null)?.power_state),
    ).toContain('Off');
  });

  it('serves 10,000 fake systems', async () => {
    const systems = Array.from({ length: 10_000 }, (_, index) => {
      const tail = index.toString(16).padStart(12, '0');
      return { uuid: `11111111-2222-4333-8444-${tail}`, name: `fake${index}`, power_state: 'Off', nics: [] };
    });
    const base = await serve(metal3(JSON.stringify(systems)));
    const collection = await get(`${base}/redfish/v1/Systems`);
    expect(collection['Members@odata.count']).toBe(10_000);
    const last = `${base}/redfish/v1/Systems/11111111-2222-4333-8444-00000000270f`;
    expect(await send('POST', `${last}/Actions/ComputerSystem.Reset`, { ResetType: 'On' })).toBe(204);
    expect(await get(last)).toMatchObject({ Name: 'fake9999', PowerState: 'On' });
  });

  it('shows the flags of sushy-tools and its own name in its help', async () => {
    const { code, stdout } = await run(['--help'], { command: 'sushy-emulator' });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: sushy-emulator /);
    const flags = '--config --debug --interface --port --ssl-certificate --ssl-key --feature-set --os-cloud';
    for (const flag of [...flags.split(' '), '--libvirt-uri', '--fake', '--ironic-cloud'])
      expect(stdout).toContain(flag);
  });
});
