/**
 * Tests the rules of DMTF's Use-Case-Checkers, one test per rule: power, boot override, accounts,
 * interfaces of a manager, queries. docs/internals/conformance-rules.md lists all rules.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { settingsTable } from '../../src/config/settings.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import type { HostNetwork } from '../../src/host/host-network.js';
import { serveResources, type Served } from '../support/served-resources.js';
import { managerNetworkInMemory } from '../support/services.js';
import { accounts, at, bodyOf, roles, root, startRuleService, type Body, type RuleService } from './rule-service.js';

let service: RuleService;
let machines: readonly string[];

beforeAll(async () => {
  service = await startRuleService();
  machines = await service.members(`${root}/Systems`);
});
afterAll(() => service.close());

const resetOf = (machine: string) => `${machine}/Actions/ComputerSystem.Reset`;
const reset = (machine: string, ResetType: string) => service.ask('POST', resetOf(machine), { body: { ResetType } });
const override = async (machine: string) => {
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } = at(
    await service.get(machine),
    'Boot',
  ) as Body; // Rows RF-25 and RF-26 of the contract require an object.
  return [target, enabled];
};
const setOverride = (machine: string, BootSourceOverrideTarget: string, BootSourceOverrideEnabled: string) =>
  service.ask('PATCH', machine, { body: { Boot: { BootSourceOverrideTarget, BootSourceOverrideEnabled } } });

describe('a request', () => {
  it('becomes a task after less than 15 seconds by default', () => {
    expect(settingsTable.taskAfterSeconds.default).toBeLessThan(15);
  });
});

describe('power', () => {
  it('has the expected state after ForceOff, ForceRestart, PowerCycle, On, ForceOn, in the order of the checkers', async () => {
    for (const machine of machines) {
      for (const [type, state] of [
        ['ForceOff', 'Off'],
        ['ForceRestart', 'On'],
        ['ForceOff', 'Off'],
        ['PowerCycle', 'On'],
        ['On', 'On'],
        ['ForceOn', 'On'],
      ] as const) {
        const { status } = await reset(machine, type);
        expect([type, Math.floor(status / 100), (await service.get(machine))['PowerState']]).toEqual([type, 2, state]);
      }
    }
  });

  it('has a list of its reset types', async () => {
    for (const machine of machines) {
      // Row RF-36 of the contract requires an object.
      const actions = (await service.get(machine))['Actions'] as Readonly<Record<string, Body>>;
      expect(actions['#ComputerSystem.Reset']?.['ResetType@Redfish.AllowableValues']).toEqual(
        expect.arrayContaining(['On', 'ForceOff', 'ForceRestart', 'PowerCycle', 'GracefulRestart']),
      );
    }
  });
});

describe('a boot override', () => {
  it('has lists of its allowable values, on every machine', async () => {
    for (const machine of machines) {
      const boot = at(await service.get(machine), 'Boot') as Body; // Rows RF-25 to RF-29 require an object.
      expect(boot['BootSourceOverrideTarget@Redfish.AllowableValues']).toEqual(expect.arrayContaining(['Pxe']));
      expect(boot['BootSourceOverrideEnabled@Redfish.AllowableValues']).toEqual(
        expect.arrayContaining(['Disabled', 'Once', 'Continuous']),
      );
    }
  });

  it.each(['Continuous', 'Once'])('is returned as it was set: Pxe, %s', async (enabled) => {
    for (const machine of machines) {
      expect((await setOverride(machine, 'Pxe', enabled)).status).toBe(200);
      expect(await override(machine)).toEqual(['Pxe', enabled]);
    }
  });

  it.each(['ForceRestart', 'GracefulRestart'])('with Once is Disabled after a %s', async (type) => {
    for (const machine of machines) {
      await reset(machine, 'On');
      await setOverride(machine, 'Pxe', 'Once');
      expect((await reset(machine, type)).status).toBe(204);
      expect((await override(machine))[1]).toBe('Disabled');
    }
  });

  it('is disabled with None, and returned as disabled', async () => {
    for (const machine of machines) {
      await setOverride(machine, 'Pxe', 'Continuous');
      expect((await setOverride(machine, 'None', 'Disabled')).status).toBe(200);
      expect((await override(machine))[1]).toBe('Disabled');
    }
  });

  it('accepts the ETag of the last read, which is still current', async () => {
    for (const machine of machines) {
      const { headers } = await service.ask('GET', machine);
      const changed = await service.ask('PATCH', machine, {
        body: { Boot: { BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' } },
        headers: { 'If-Match': String(headers.etag) },
      });
      expect(changed.status).toBe(200);
    }
  });
});

describe('an account', () => {
  it('can be created, listed, used, given each role and removed, with a password of eight characters', async () => {
    const made = await service.ask('POST', accounts, {
      body: { UserName: 'testuser0', Password: 'hW3r-t9q', RoleId: 'Administrator' },
    });
    const uri = String(made.headers.location);
    expect([made.status, bodyOf(made)['Enabled']]).toEqual([201, true]);
    expect(await service.members(accounts)).toContain(uri);
    expect((await service.logIn('testuser0', 'hW3r-t9q')).status).toBe(201);
    expect((await service.logIn('testuser0', 'hW3r-t9q-')).status).toBe(401);
    for (const RoleId of ['ReadOnly', 'Operator', 'Administrator']) {
      expect((await service.ask('PATCH', uri, { body: { RoleId } })).status).toBe(200);
      expect((await service.get(uri))['RoleId']).toBe(RoleId);
    }
    expect((await service.ask('DELETE', uri)).status).toBe(204);
    expect(await service.members(accounts)).not.toContain(uri);
  });
});

/** A host interface with all values. The tests replace some of them. */
const port = {
  name: 'eth0',
  mac: '52:54:00:00:00:01',
  ipv4: [{ address: '192.0.2.1', prefix: 24 }],
  ipv6: [{ address: 'fe80::1', prefix: 64 }],
  ipv4Gateway: '192.0.2.254',
  ipv6Gateway: 'fe80::fe',
  linkUp: true,
  speedMbps: 1000,
  mtu: 1500,
  vlan: null,
} as const satisfies HostNetwork['interfaces'][number];

describe.each<[string, Partial<HostNetwork['interfaces'][number]>]>([
  ['with all values', {}],
  ['with several addresses', { ipv4: [...port.ipv4, { address: '198.51.100.7', prefix: 28 }] }],
  ['without a gateway', { ipv4Gateway: null, ipv6Gateway: null }],
  ['without an address of IPv4', { ipv4: [], ipv4Gateway: null }],
  ['without an address of IPv6', { ipv6: [], ipv6Gateway: null }],
  ['of a VLAN', { vlan: 7, name: 'eth0.7' }],
  ['that is the loopback interface', { mac: null, ipv4: [{ address: '127.0.0.1', prefix: 8 }], ipv4Gateway: null }],
])("a manager's interface %s", (_name, different) => {
  let served: Served;
  let shown: Body;
  beforeEach(async () => {
    const network: HostNetwork = {
      hostName: 'host',
      fqdn: null,
      interfaces: [{ ...port, ...different }],
      nameServers: ['192.0.2.53'],
    };
    served = await serveResources(new FakeDriver(), { managerNetwork: managerNetworkInMemory(network) });
    // The schema requires this property.
    const [manager] = (await served.get(`${root}/Managers`))['Members'] as readonly { '@odata.id': string }[];
    const interfaces = `${String(manager?.['@odata.id'])}/EthernetInterfaces`;
    shown = await served.get(`${interfaces}/${different.name ?? port.name}`);
  });
  afterEach(() => served.close());
  const list = (name: string): readonly Body[] => {
    const value = shown[name];
    expect(value).toBeInstanceOf(Array);
    return value as readonly Body[]; // The line above checks this.
  };

  it('has all required lists, with only valid addresses in them', () => {
    for (const name of ['NameServers', 'StaticNameServers']) {
      for (const server of list(name)) expect(['', '0.0.0.0', '::']).not.toContain(server);
    }
    for (const name of ['IPv4Addresses', 'IPv4StaticAddresses', 'IPv6Addresses', 'IPv6StaticAddresses']) {
      for (const { Address: address } of list(name)) expect(['', '0.0.0.0', '::', null]).not.toContain(address);
    }
    expect(list('IPv6StaticDefaultGateways')).toEqual([]);
    expect(['', '::']).not.toContain(shown['IPv6DefaultGateway']);
  });

  it('has a gateway only in its first IPv4 address', () => {
    const addresses = list('IPv4Addresses');
    expect(addresses.map((address) => 'Gateway' in address)).toEqual(addresses.map((_address, index) => index === 0));
    for (const { Gateway: gateway } of addresses) expect(['', '0.0.0.0']).not.toContain(gateway);
  });

  it('has a mask for each IPv4 address, a prefix for each IPv6 address, and the origin of each', () => {
    for (const address of list('IPv4Addresses')) {
      expect(address['SubnetMask']).toMatch(/^\d+(\.\d+){3}$/);
      expect(address).toHaveProperty('AddressOrigin');
    }
    for (const address of list('IPv6Addresses')) {
      expect(address['PrefixLength']).toEqual(expect.any(Number));
      expect(address).toHaveProperty('AddressOrigin');
      expect(address).toHaveProperty('AddressState');
    }
  });

  it('shows its VLAN, or VLANEnable false without one', () => {
    expect(shown['VLAN']).toMatchObject({ VLANEnable: different.vlan !== undefined, VLANId: different.vlan ?? 0 });
  });
});

describe('a query', () => {
  const names = async (query: string) => {
    const answer = await service.ask('GET', `${roles}?${query}`);
    const { Members } = bodyOf(answer);
    return (Members as readonly { readonly '@odata.id': string }[]).map((member) =>
      member['@odata.id'].split('/').at(-1),
    ); // The schema requires this form.
  };

  it.each([
    ["Id eq 'Operator'", ['Operator']],
    ["not (Id eq 'Operator')", ['Administrator', 'ReadOnly']],
    ["(Id eq 'Operator') or (Id eq 'ReadOnly')", ['Operator', 'ReadOnly']],
  ])('filters a collection: %s', async (filter, expected) => {
    expect((await names(`$filter=${encodeURIComponent(filter)}`)).sort()).toEqual(expected);
  });

  it('filters only collections', async () => {
    expect((await service.ask('GET', `${root}/?$filter=Id%20eq%20'x'`)).status).toBe(400);
  });

  it('returns the selected properties, and otherwise only those that identify the resource', async () => {
    for (const path of [`${root}/`, String(machines[0])]) {
      const body = bodyOf(await service.ask('GET', `${path}?$select=Name,Id`));
      const allowed = ['@odata.id', '@odata.type', '@odata.context', '@odata.etag', 'Id', 'Name'];
      expect(Object.keys(body).filter((name) => !allowed.includes(name))).toEqual([]);
      expect(Object.keys(body)).toEqual(expect.arrayContaining(['@odata.id', '@odata.type', 'Id', 'Name']));
    }
  });

  it.each(['*', '.', '~', '*($levels=1)', '.($levels=1)', '~($levels=1)'])(
    'expands only the requested links of the service root, those outside or inside of Links: %s',
    async (expand) => {
      const body = bodyOf(await service.ask('GET', `${root}/?$expand=${expand}`));
      const isExpanded = (link: unknown) => Object.keys(link ?? {}).length > 1;
      const [inPlace, inLinks] = [!expand.startsWith('~'), !expand.startsWith('.')];
      expect([isExpanded(body['Systems']), isExpanded(at(body, 'Links.Sessions'))]).toEqual([inPlace, inLinks]);
      // With one level, the expanded resource still has links.
      if (inPlace) expect(at(body, 'Systems.Members')).toEqual(machines.map((uri) => ({ '@odata.id': uri })));
    },
  );

  it('returns for "only" a single member, the collection if it has more, and an error at other resources', async () => {
    const [account] = await service.members(accounts);
    expect(bodyOf(await service.ask('GET', `${accounts}?only`))['@odata.id']).toBe(account);
    expect(bodyOf(await service.ask('GET', `${roles}?only`))['@odata.id']).toBe(roles);
    expect((await service.ask('GET', `${root}/?only`)).status).toBe(400);
  });
});
