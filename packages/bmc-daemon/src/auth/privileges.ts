/**
 * What each method of each resource asks of an account: DMTF's base privilege registry, for what is served and will be. A test
 * compares every row with the registry; a resource without a row is refused to everybody but whoever has every privilege.
 * @see https://redfish.dmtf.org/registries/Redfish_1.8.0_PrivilegeRegistry.json
 */

/** The five privileges of Redfish, in the registry's order. */
export const privilegeNames = [
  'Login',
  'ConfigureManager',
  'ConfigureUsers',
  'ConfigureComponents',
  'ConfigureSelf',
] as const;
export type Privilege = (typeof privilegeNames)[number];

/** One of them is enough. `ConfigureSelf` counts for what is the account's own. Empty: nobody may. */
export type Alternatives = readonly Privilege[];

/** What a method of a resource asks for. */
export interface Requirement {
  readonly any: Alternatives;
  /** Properties of a PATCH that ask for something else, `Password`. */
  readonly properties?: Readonly<Record<string, Alternatives>>;
}

interface Row {
  readonly read: Alternatives;
  /** Default: as `read`. */
  readonly head?: Alternatives;
  /** PATCH, PUT, POST (actions, too) and DELETE. */
  readonly write: Alternatives;
  readonly post?: Alternatives;
  readonly delete?: Alternatives;
  readonly patchProperties?: Readonly<Record<string, Alternatives>>;
  /** Where the resource stands below another one: by the segment of the URI after /redfish/v1. The first that fits. */
  readonly below?: Readonly<Record<string, { readonly read?: Alternatives; readonly write: Alternatives }>>;
  /** Where some of them hold what not everybody may read: URIs, and what reading asks for there. Narrower than the registry. */
  readonly secret?: { readonly at: RegExp; readonly read: Alternatives };
}

const login: Alternatives = ['Login'];
const manager: Alternatives = ['ConfigureManager'];
const users: Alternatives = ['ConfigureUsers'];
const components: Alternatives = ['ConfigureComponents'];

const byComponents: Row = { read: login, write: components };
const byManager: Row = { read: login, write: manager };
const byUsers: Row = { read: login, write: users };
const certificates: Row = {
  read: manager,
  write: manager,
  below: { Systems: { read: components, write: components } },
};
const logs: Row = {
  ...byManager,
  below: { Systems: { write: components }, Chassis: { write: components } },
  // What a console prints may be a password, and is for whoever may type there.
  secret: { at: /^\/redfish\/v1\/Systems\/[^/]+\/LogServices\/ConsoleLog\/Entries(?:\/|$)/, read: components },
};
const interfaces: Row = { ...byComponents, below: { Managers: { write: manager } } };
const metrics: Row = { ...byManager, below: { Systems: { write: components } } };

/** An entity and its collection. */
const both = (...entities: readonly string[]) => entities.flatMap((entity) => [entity, `${entity}Collection`]);
const rows = (row: Row, entities: readonly string[]) => entities.map((entity) => [entity, row] as const);

const table: ReadonlyMap<string, Row> = new Map<string, Row>([
  ...rows(byComponents, [
    ...both('BootOption', 'Chassis', 'ComputerSystem', 'Drive', 'GraphicsController', 'Memory', 'NetworkAdapter'),
    ...both('NetworkDeviceFunction', 'NetworkInterface', 'PCIeDevice', 'PCIeFunction', 'Port', 'Processor'),
    ...both('SecureBootDatabase', 'Sensor', 'Signature', 'SimpleStorage', 'SoftwareInventory', 'Storage'),
    ...both('StorageController', 'USBController', 'Volume'),
    ...['Assembly', 'Bios', 'DriveMetrics', 'MemoryMetrics', 'OperatingSystem', 'PCIeSlots', 'PortMetrics'],
    ...['ProcessorMetrics', 'SecureBoot', 'StorageControllerMetrics', 'StorageMetrics', 'UpdateService'],
  ]),
  ...rows(byManager, [
    ...both('Battery', 'Control', 'Fan', 'HostInterface', 'Job', 'JsonSchemaFile', 'Key', 'License', 'Manager'),
    ...both('MessageRegistryFile', 'MetricDefinition', 'MetricReport', 'MetricReportDefinition', 'PowerSupply', 'Role'),
    ...both('SerialInterface', 'Task', 'Triggers', 'VLanNetworkInterface', 'VirtualMedia'),
    ...['ActionInfo', 'AttributeRegistry', 'CertificateService', 'EventService', 'JobService', 'LicenseService'],
    ...['ManagerDiagnosticData', 'ManagerNetworkProtocol', 'MessageRegistry', 'Power', 'PowerSubsystem'],
    ...['PrivilegeRegistry', 'SecurityPolicy', 'ServiceConditions', 'SessionService', 'TaskService'],
    ...['TelemetryService', 'Thermal', 'ThermalMetrics', 'ThermalSubsystem'],
  ]),
  ...rows(byUsers, ['AccountService', 'ManagerAccountCollection']),
  ...rows(certificates, both('Certificate')),
  ...rows({ read: manager, write: manager }, ['CertificateLocations']),
  ...rows(logs, both('LogService', 'LogEntry')),
  ...rows(interfaces, both('EthernetInterface')),
  ...rows(metrics, ['EnvironmentMetrics']),
  // Without credentials, too; but that is not for privileges to say.
  ...rows({ read: login, write: manager }, ['ServiceRoot']),
  [
    'ManagerAccount',
    {
      read: ['ConfigureManager', 'ConfigureUsers', 'ConfigureSelf'],
      head: login,
      write: users,
      patchProperties: { Password: ['ConfigureUsers', 'ConfigureSelf'] },
    },
  ],
  [
    'Session',
    { read: ['ConfigureManager', 'ConfigureSelf'], write: manager, delete: ['ConfigureManager', 'ConfigureSelf'] },
  ],
  ['SessionCollection', { read: login, write: manager, post: login }],
  ['EventDestination', { read: login, write: ['ConfigureManager', 'ConfigureSelf'] }],
  ['EventDestinationCollection', { read: login, write: ['ConfigureManager', 'ConfigureComponents'] }],
]);

const nobody: Requirement = { any: [] };

/** Whether the table knows a resource. */
export function hasPrivilegeRow(entity: string): boolean {
  return table.has(entity);
}

/**
 * What a method asks for.
 * @param uri its path or template: below `/redfish/v1/Managers` an EthernetInterface is the manager's.
 */
export function requirementOf(entity: string, uri: string, method: string): Requirement {
  const row = table.get(entity);
  if (row === undefined) return nobody;
  const above = row.below?.[uri.split('/')[3] ?? ''];
  const secret = row.secret?.at.test(uri) === true ? row.secret.read : undefined;
  switch (method) {
    case 'GET':
      return { any: secret ?? above?.read ?? row.read };
    case 'HEAD':
      return { any: secret ?? above?.read ?? row.head ?? row.read };
    case 'POST':
      return { any: above?.write ?? row.post ?? row.write };
    case 'DELETE':
      return { any: above?.write ?? row.delete ?? row.write };
    case 'PATCH':
    case 'PUT': {
      const any = above?.write ?? row.write;
      const properties = method === 'PATCH' ? row.patchProperties : undefined;
      return properties === undefined ? { any } : { any, properties };
    }
    default:
      return nobody;
  }
}
