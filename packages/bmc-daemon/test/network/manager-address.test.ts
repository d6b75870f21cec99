/** Tests addresses and names of managers on a real host, with requests from another host. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { daemonFixture } from '../daemon/fixture.js';
import { waitFor, type DaemonProcess } from '../daemon/process.js';
import { CLIENT, describeNetwork, DEVICE, HOST, openNetworkLab, type Answer, type NetworkLab } from './network-lab.js';

const OWN = '192.0.2.50';

describeNetwork("a manager's own address", () => {
  const { at, start, makeCertificate } = daemonFixture();
  let lab: NetworkLab;
  beforeEach(async () => {
    lab = await openNetworkLab();
  });
  // Ends the daemon before the lab, because the daemon runs in a namespace of the lab.
  afterEach(async () => {
    await daemon?.dispose();
    daemon = undefined;
    await lab.close();
  });

  let daemon: DaemonProcess | undefined;
  /**
   * Starts a daemon on the host, and returns its URL at the host's address.
   * @param through the start of a command line that runs the daemon.
   */
  const serve = async (args: readonly string[] = [], through: readonly string[] = []): Promise<string> => {
    daemon = start(['--fake', '-p', '8000', ...args], { through: [...lab.onHost, ...through] });
    await daemon.waitForLog(new RegExp(`^serving fake at .*${HOST}`));
    return `${args.includes('--ssl-key') ? 'https' : 'http'}://${HOST}:8000`;
  };
  const membersOf = ({ body }: Answer): readonly string[] =>
    ((body?.['Members'] ?? []) as readonly { readonly '@odata.id': string }[]).map((member) => member['@odata.id']);
  const managers = async (url: string): Promise<readonly string[]> =>
    membersOf(await lab.ask(`${url}/redfish/v1/Managers`));
  const patch = (url: string, manager: string, body: object): Promise<Answer> =>
    lab.ask(`${url}${manager}/EthernetInterfaces/${DEVICE}`, { method: 'PATCH', body });
  const messages = ({ body }: Answer): readonly unknown[] => {
    const { error } = body as {
      readonly error: { readonly '@Message.ExtendedInfo': readonly Record<string, unknown>[] };
    };
    return error['@Message.ExtendedInfo'].map(({ MessageId, RelatedProperties }) => [
      String(MessageId).split('.').at(-1),
      ...((RelatedProperties ?? []) as readonly string[]),
    ]);
  };

  it("is set on the host; requests to it, or with the manager's host name, see only this manager", async () => {
    const url = await serve();
    const [first = '', second = ''] = await managers(url);
    await lab.ip('host', 'route', 'add', '198.51.100.0/24', 'via', CLIENT, 'dev', DEVICE, 'metric', '100');
    await lab.ip('host', 'route', 'add', 'default', 'via', '192.0.2.254');
    const routes = await lab.routes();
    // The service rejects an address that the host routes elsewhere, and the address of a router that does not answer.
    for (const Address of ['198.51.100.9', '192.0.2.254']) {
      const refused = await patch(url, first, { IPv4StaticAddresses: [{ Address, SubnetMask: '255.255.255.0' }] });
      expect([refused.status, await lab.routes()]).toEqual([400, routes]);
    }
    const answer = await patch(url, first, {
      HostName: 'web1-bmc',
      IPv4Addresses: [{ Address: OWN, SubnetMask: '255.255.255.0' }],
    });
    expect([answer.status, answer.body?.['IPv4Addresses'], answer.body?.['IPv4StaticAddresses']]).toEqual([
      200,
      [{ Address: OWN, SubnetMask: '255.255.255.0', AddressOrigin: 'Static', Gateway: '192.0.2.254' }],
      [{ Address: OWN, SubnetMask: '255.255.255.0' }],
    ]);
    await expect(lab.addresses()).resolves.toEqual([`${HOST}/24`, `${OWN}/32`]);
    // The host's own network is unchanged.
    await expect(lab.routes()).resolves.toBe(routes);
    const system = (manager: string): string => manager.replace('Managers', 'Systems');
    for (const options of [{ url: `http://${OWN}:8000` }, { url, host: 'WEB1-BMC:8000' }]) {
      const ask = (path: string) => lab.ask(`${options.url}${path}`, options);
      for (const collection of ['Systems', 'Managers', 'Chassis']) {
        const { status, body } = await ask(`/redfish/v1/${collection}`);
        expect({ collection, status, count: body?.['Members@odata.count'] }).toEqual({
          collection,
          status: 200,
          count: 1,
        });
      }
      expect((await ask(first)).status).toBe(200);
      expect((await ask(system(first))).status).toBe(200);
      expect((await ask(second)).status).toBe(404);
      expect((await ask(`${system(second)}/Bios`)).status).toBe(404);
      expect((await ask('/redfish/v1')).body?.['UUID']).toBe(first.split('/').at(-1));
      const page = await ask('/ui/plain');
      expect([page.text.includes(first), page.text.includes(second)]).toEqual([true, false]);
    }
    // The address of the host still shows all managers.
    await expect(managers(url)).resolves.toHaveLength(3);
  });

  it('is removed when the service stops and set when it starts, even if the last daemon was killed', async () => {
    const url = await serve();
    const [first = '', second = ''] = await managers(url);
    await patch(url, first, { IPv4StaticAddresses: [{ Address: OWN, SubnetMask: '255.255.255.0' }] });
    const both = [`${HOST}/24`, `${OWN}/32`];
    daemon?.signal('SIGTERM');
    await daemon?.waitForExit();
    await expect(lab.addresses()).resolves.toEqual([`${HOST}/24`]);
    await serve();
    await expect(lab.addresses()).resolves.toEqual(both);
    await expect(managers(`http://${OWN}:8000`)).resolves.toEqual([first]);

    await daemon?.dispose();
    // The killed daemon left the address. The next daemon does not regard it as an address of the host.
    await expect(lab.addresses()).resolves.toEqual(both);
    await serve();
    expect(daemon?.messages().filter((line) => line.startsWith('serving'))).toEqual([
      'serving fake at http://127.0.0.1:8000/redfish/v1',
      `serving fake at ${url}/redfish/v1`,
    ]);
    await expect(managers(`http://${OWN}:8000`)).resolves.toEqual([first]);
    const other = await lab.ask(`${url}${second}/EthernetInterfaces/${DEVICE}`);
    expect(other.body?.['IPv4Addresses']).toEqual([
      { Address: HOST, SubnetMask: '255.255.255.0', AddressOrigin: null, Gateway: null },
    ]);
    daemon?.signal('SIGTERM');
    await daemon?.waitForExit();
    await expect(lab.addresses()).resolves.toEqual([`${HOST}/24`]);
  });

  it('is removed at the next start of the service if its machine does not exist anymore', async () => {
    const url = await serve();
    const [first = ''] = await managers(url);
    await patch(url, first, { HostName: 'gone', IPv4StaticAddresses: [{ Address: OWN, SubnetMask: '255.255.255.0' }] });
    await daemon?.dispose();
    const [file = ''] = readdirSync(at('state')).filter((name) => name.startsWith('manager-network-'));
    const state = readFileSync(at(`state/${file}`), 'utf8');
    const uuid = first.split('/').at(-1) ?? '';
    writeFileSync(at(`state/${file}`), state.replace(uuid, 'b5e0e3c1-5a0e-4c5b-a54f-3f3f3f3f3f3f'));
    await serve();
    const stored = await waitFor(
      () => {
        const { machines } = JSON.parse(readFileSync(at(`state/${file}`), 'utf8')) as { readonly machines: object };
        return Object.keys(machines).length === 0 ? machines : undefined;
      },
      () => 'the machine is still stored',
    );
    expect([stored, await lab.addresses()]).toEqual([{}, [`${HOST}/24`]]);
  });

  it('can be removed by a request to this address, and the answer arrives before the removal', async () => {
    const url = await serve();
    const [first = '', second = ''] = await managers(url);
    await patch(url, first, { IPv4StaticAddresses: [{ Address: OWN, SubnetMask: '255.255.255.0' }] });
    const { status, body } = await patch(`http://${OWN}:8000`, first, { IPv4StaticAddresses: [null] });
    expect([status, body?.['IPv4StaticAddresses']]).toEqual([200, []]);
    // The next request for the address waits until it is free.
    const next = await patch(url, second, { IPv4StaticAddresses: [{ Address: OWN, SubnetMask: '255.255.255.0' }] });
    expect(next.status).toBe(200);
    await expect(managers(`http://${OWN}:8000`)).resolves.toEqual([second]);
  });

  it("is rejected if it is in use, or if the host's network would have to change", async () => {
    const url = await serve();
    const [first = '', second = ''] = await managers(url);
    const give = (manager: string, Address: string, SubnetMask = '255.255.255.0') =>
      patch(url, manager, { IPv4StaticAddresses: [{ Address, SubnetMask }] });
    await lab.ip('host', 'link', 'add', 'bmc1', 'type', 'bridge');
    await lab.ip('host', 'address', 'add', '10.0.0.1/16', 'dev', 'bmc1');
    await lab.ip('host', 'link', 'set', 'bmc1', 'up');
    expect((await give(first, OWN)).status).toBe(200);
    const place = '#/IPv4StaticAddresses/0';
    for (const [address, mask, status, expected] of [
      [HOST, undefined, 400, ['PropertyValueIncorrect', `${place}/Address`]],
      [CLIENT, undefined, 400, ['PropertyValueIncorrect', `${place}/Address`]],
      [OWN, undefined, 409, ['PropertyValueResourceConflict', `${place}/Address`]],
      ['10.0.7.7', undefined, 400, ['PropertyValueIncorrect', `${place}/Address`]],
      ['192.0.2.51', '255.255.0.0', 400, ['PropertyValueIncorrect', `${place}/SubnetMask`]],
    ] as const) {
      const answer = await give(second, address, mask);
      expect([address, answer.status, messages(answer)]).toEqual([address, status, [expected]]);
    }
    const cut = await patch(url, second, { IPv4Addresses: [null] });
    expect([cut.status, messages(cut)]).toEqual([400, [['PropertyValueError', '#/IPv4Addresses/0']]]);
    await expect(lab.addresses()).resolves.toEqual([`${HOST}/24`, `${OWN}/32`]);
  });

  it('is rejected with the reason if the daemon lacks CAP_NET_ADMIN; a host name alone is accepted', async () => {
    const url = await serve([], ['setpriv', '--bounding-set=-net_admin']);
    const [first = ''] = await managers(url);
    const answer = await patch(url, first, {
      HostName: 'web1',
      IPv4Addresses: [{ Address: OWN, SubnetMask: '255.255.255.0' }],
    });
    expect([answer.status, messages(answer)]).toEqual([
      409,
      [['PropertyValueExternalConflict', '#/IPv4Addresses/0/Address']],
    ]);
    expect(answer.text).toContain('this service has no CAP_NET_ADMIN');
    await expect(lab.addresses()).resolves.toEqual([`${HOST}/24`]);
    expect((await lab.ask(`${url}${first}/EthernetInterfaces/${DEVICE}`)).body?.['HostName']).not.toBe('web1');
    const named = await patch(url, first, { HostName: 'web1' });
    expect([named.status, named.body?.['HostName']]).toEqual([200, 'web1']);
  });

  it('gets its own TLS listener if the service listens at one address only, for IPv4 and IPv6', async () => {
    makeCertificate('server');
    const tls = ['--ssl-certificate', at('server.pem'), '--ssl-key', at('server.key')];
    const url = await serve(['-i', HOST, ...tls]);
    const insecure = { args: ['--insecure'] };
    const [first = ''] = membersOf(await lab.ask(`${url}/redfish/v1/Managers`, insecure));
    const six = '2001:db8::50';
    await lab.ip('client', 'address', 'add', '2001:db8::200/64', 'dev', 'client0', 'nodad');
    const answer = await lab.ask(`${url}${first}/EthernetInterfaces/${DEVICE}`, {
      ...insecure,
      method: 'PATCH',
      body: {
        IPv4StaticAddresses: [{ Address: '198.51.100.7', SubnetMask: '255.255.255.0' }],
        IPv6StaticAddresses: [{ Address: six, PrefixLength: 64 }],
      },
    });
    expect([answer.status, answer.body?.['IPv6StaticAddresses']]).toEqual([200, [{ Address: six, PrefixLength: 64 }]]);
    await lab.ip('client', 'address', 'add', '198.51.100.200/24', 'dev', 'client0');
    for (const host of ['198.51.100.7', `[${six}]`]) {
      expect(membersOf(await lab.ask(`https://${host}:8000/redfish/v1/Managers`, insecure))).toEqual([first]);
      // This listener also redirects plain HTTP to HTTPS.
      expect((await lab.ask(`http://${host}:8000/redfish/v1/`)).status).toBe(308);
    }
  });
});
