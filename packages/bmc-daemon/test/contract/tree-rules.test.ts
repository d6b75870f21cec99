/**
 * Tests which resources DMTF's tools expect, their methods, and their required properties.
 * docs/internals/conformance-rules.md lists all rules.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { at, linkIn, root, startRuleService, type Body, type RuleService } from './rule-service.js';

let service: RuleService;
let machine: string;
let manager: string;
let chassis: string;

beforeAll(async () => {
  service = await startRuleService();
  const machines = await service.members(`${root}/Systems`);
  // Selects a UEFI machine, which has all optional resources.
  for (const path of machines) if ('SecureBoot' in (await service.get(path))) machine = path;
  manager = machine.replace('Systems', 'Managers');
  chassis = machine.replace('Systems', 'Chassis');
});
afterAll(() => service.close());

describe('a client without credentials', () => {
  it.each([root, `${root}/`])('gets the service root at %s', async (path) => {
    const { status, json } = await service.anonymous('GET', path);
    expect([status, at(json, 'Id')]).toEqual([200, 'RootService']);
  });

  it('gets a list of versions with one entry', async () => {
    const { status, json } = await service.anonymous('GET', '/redfish');
    expect([status, json]).toEqual([200, { v1: '/redfish/v1/' }]);
  });

  it('gets a service document with its context and a list of resources', async () => {
    const { status, json } = await service.anonymous('GET', `${root}/odata`);
    expect([status, json]).toEqual([
      200,
      { '@odata.context': '/redfish/v1/$metadata', value: expect.arrayContaining([expect.anything()]) as unknown },
    ]);
  });
});

describe('the service root', () => {
  it('has UUID, product, vendor and the link to sessions', async () => {
    const body = await service.get(`${root}/`);
    expect(body).toMatchObject({ Product: expect.stringMatching(/./) as unknown, Vendor: 'Rackless' });
    expect(body['UUID']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(linkIn(body, 'Links.Sessions')).toBe(`${root}/SessionService/Sessions`);
  });

  it.each([
    ...['AccountService', 'CertificateService', 'Chassis', 'EventService', 'JsonSchemas', 'Managers', 'Registries'],
    ...['SessionService', 'Systems', 'Tasks', 'TelemetryService', 'UpdateService'],
  ])('leads to %s', async (name) => {
    expect(linkIn(await service.get(`${root}/`), name)).toMatch(
      new RegExp(`^${root}/(Task)?${name === 'Tasks' ? 'Service' : name}$`),
    );
  });
});

/** Methods besides GET and HEAD, at most those that DMTF's schemas permit. */
const writes: readonly (readonly [string, () => string, string])[] = [
  ['SessionService', () => `${root}/SessionService`, 'PATCH'],
  ['Sessions', () => `${root}/SessionService/Sessions`, 'POST'],
  ['AccountService', () => `${root}/AccountService`, 'PATCH'],
  ['Accounts', () => `${root}/AccountService/Accounts`, 'POST'],
  ['an account', () => `${root}/AccountService/Accounts/admin`, 'PATCH, DELETE'],
  ['Roles', () => `${root}/AccountService/Roles`, 'POST'],
  ['EventService', () => `${root}/EventService`, 'PATCH'],
  ['Subscriptions', () => `${root}/EventService/Subscriptions`, 'POST'],
  ['TaskService', () => `${root}/TaskService`, 'PATCH'],
  ['Tasks', () => `${root}/TaskService/Tasks`, ''],
  ['CertificateService', () => `${root}/CertificateService`, ''],
  ['CertificateLocations', () => `${root}/CertificateService/CertificateLocations`, ''],
  ['Registries', () => `${root}/Registries`, ''],
  ['JsonSchemas', () => `${root}/JsonSchemas`, ''],
  ['Systems', () => `${root}/Systems`, ''],
  ['a system', () => machine, 'PATCH'],
  ['a SimpleStorage', () => `${machine}/SimpleStorage/virtio`, ''],
  ['volumes', () => `${machine}/Storage/virtio/Volumes`, 'POST'],
  ['certificates of virtual media', () => `${machine}/VirtualMedia/Cd/Certificates`, 'POST'],
  ['settings of a BIOS', () => `${machine}/Bios/Settings`, 'PATCH'],
  ['SecureBoot', () => `${machine}/SecureBoot`, 'PATCH'],
  ['NetworkProtocol', () => `${manager}/NetworkProtocol`, 'PATCH'],
  ['a chassis', () => chassis, 'PATCH'],
  ['Power', () => `${chassis}/Power`, ''],
  ['Thermal', () => `${chassis}/Thermal`, ''],
];

describe('the Allow header', () => {
  it.each(writes)('has exactly the supported methods: %s', async (_name, path, more) => {
    const { status, headers } = await service.ask('GET', path());
    expect([status, headers.allow]).toEqual([200, more === '' ? 'GET, HEAD' : `GET, HEAD, ${more}`]);
  });
});

describe('the required properties', () => {
  const has = async (path: string, names: readonly string[]): Promise<void> => {
    const body = await service.get(path);
    expect(names.filter((name) => at(body, name) === undefined)).toEqual([]);
  };
  it('exist in AccountService: the length of passwords, and Basic authentication', async () => {
    await has(`${root}/AccountService`, ['MinPasswordLength', 'MaxPasswordLength']);
    expect((await service.get(`${root}/AccountService`))['HTTPBasicAuth']).toBe('Enabled');
  });
  it('exist in an account: types, role and PasswordChangeRequired', async () => {
    await has(`${root}/AccountService/Accounts/admin`, [
      'AccountTypes',
      'RoleId',
      'PasswordChangeRequired',
      'Links.Role',
    ]);
  });
  it('exist in EventService: the URI of its stream', async () => {
    expect((await service.get(`${root}/EventService`))['ServerSentEventUri']).toBe(`${root}/EventService/SSE`);
  });
  it('exist in a subscription: context, type and protocol', async () => {
    const body = { Destination: 'https://192.0.2.1/', Protocol: 'Redfish' };
    const made = await service.ask('POST', `${root}/EventService/Subscriptions`, { body });
    await has(String(made.headers.location), ['Context', 'SubscriptionType', 'Protocol']);
  });
});

describe('the registries', () => {
  it.each(['Base', 'ResourceEvent', 'TaskEvent', 'RacklessBiosAttributeRegistry'])(
    'include %s, with an existing file',
    async (name) => {
      const members = await service.members(`${root}/Registries`);
      const path = members.find((member) => member.split('/').at(-1)?.startsWith(name));
      const { Location: location } = await service.get(String(path));
      const uri = at((location as readonly Body[])[0], 'Uri'); // The schema requires this property.
      expect((await service.ask('GET', String(uri))).status).toBe(200);
    },
  );
});

describe('the service', () => {
  it.each([
    ...['Bios', 'SecureBoot', 'Processors', 'Memory', 'EthernetInterfaces', 'Storage', 'SimpleStorage', 'VirtualMedia'],
    ...['LogServices', 'Boot.BootOptions'],
  ])('links a system to %s', async (name) => {
    expect((await service.ask('GET', linkIn(await service.get(machine), name))).status).toBe(200);
  });
  it.each(['NetworkProtocol', 'EthernetInterfaces', 'LogServices', 'VirtualMedia'])(
    'links a manager to %s',
    async (name) => {
      expect((await service.ask('GET', linkIn(await service.get(manager), name))).status).toBe(200);
    },
  );
  it.each(['Power', 'Thermal', 'PowerSubsystem', 'ThermalSubsystem', 'Sensors', 'EnvironmentMetrics', 'Drives'])(
    'links a chassis to %s',
    async (name) => {
      expect((await service.ask('GET', linkIn(await service.get(chassis), name))).status).toBe(200);
    },
  );
});
