/**
 * The privileges that each method of each resource requires: a part of DMTF's base privilege
 * registry, with stricter rules for sensitive content (`secret`). A test compares every row with the
 * registry. The guard rejects every client for an entity without a row.
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
/** A privilege of a Redfish role (DSP0266, privilege model). */
export type Privilege = (typeof privilegeNames)[number];

/**
 * Alternative privileges; one is enough. `ConfigureSelf` counts only for the account's own
 * resources. Empty: no account has access.
 */
export type Alternatives = readonly Privilege[];

/** The privileges that a method of a resource requires. */
export interface Requirement {
  readonly any: Alternatives;
  /** PATCH properties with other alternatives, such as `Password`. */
  readonly properties?: Readonly<Record<string, Alternatives>>;
}

interface Row {
  readonly read: Alternatives;
  /** Default: the value of `read`. */
  readonly head?: Alternatives;
  /** For PATCH, PUT, DELETE and POST, including actions. */
  readonly write: Alternatives;
  /** Default: the value of `write`. */
  readonly post?: Alternatives;
  /** Default: the value of `write`. */
  readonly delete?: Alternatives;
  readonly patchProperties?: Readonly<Record<string, Alternatives>>;
  /**
   * Other requirements for resources below a collection, by the collection's name after
   * /redfish/v1: `Systems`.
   */
  readonly below?: Readonly<Record<string, { readonly read?: Alternatives; readonly write: Alternatives }>>;
  /**
   * URIs with sensitive content, and the privileges to read them, which are stricter than those of
   * DMTF's registry.
   */
  readonly secret?: { readonly uriPattern: RegExp; readonly read: Alternatives };
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
  // Console output may contain a password, so reading it needs the privilege to use the console.
  secret: { uriPattern: /^\/redfish\/v1\/Systems\/[^/]+\/LogServices\/ConsoleLog\/Entries(?:\/|$)/, read: components },
};
/** Reading the registry of the service's settings needs ConfigureManager, because it contains addresses and paths. */
const registries: Row = {
  ...byManager,
  secret: { uriPattern: /^\/redfish\/v1\/Registries\/RacklessServiceAttributeRegistry\.[^/]+\/./, read: manager },
};
const interfaces: Row = { ...byComponents, below: { Managers: { write: manager } } };
const metrics: Row = { ...byManager, below: { Systems: { write: components } } };

/** Returns the names of the entities and of their collections. */
const withCollections = (...entities: readonly string[]) =>
  entities.flatMap((entity) => [entity, `${entity}Collection`]);
const rows = (row: Row, entities: readonly string[]) => entities.map((entity) => [entity, row] as const);

const table: ReadonlyMap<string, Row> = new Map<string, Row>([
  ...rows(byComponents, [
    ...withCollections(
      'BootOption',
      'Chassis',
      'ComputerSystem',
      'Drive',
      'GraphicsController',
      'Memory',
      'NetworkAdapter',
    ),
    ...withCollections('NetworkDeviceFunction', 'NetworkInterface', 'PCIeDevice', 'PCIeFunction', 'Port', 'Processor'),
    ...withCollections('SecureBootDatabase', 'Sensor', 'Signature', 'SimpleStorage', 'SoftwareInventory', 'Storage'),
    ...withCollections('StorageController', 'USBController', 'Volume'),
    ...['Assembly', 'Bios', 'DriveMetrics', 'MemoryMetrics', 'OperatingSystem', 'PCIeSlots', 'PortMetrics'],
    ...['ProcessorMetrics', 'SecureBoot', 'StorageControllerMetrics', 'StorageMetrics', 'UpdateService'],
  ]),
  ...rows(byManager, [
    ...withCollections(
      'Battery',
      'Control',
      'Fan',
      'HostInterface',
      'Job',
      'JsonSchemaFile',
      'Key',
      'License',
      'Manager',
    ),
    ...withCollections('MetricDefinition', 'MetricReport', 'MetricReportDefinition', 'PowerSupply', 'Role'),
    ...withCollections('SerialInterface', 'Task', 'Triggers', 'VLanNetworkInterface', 'VirtualMedia'),
    ...['ActionInfo', 'AttributeRegistry', 'CertificateService', 'EventService', 'JobService', 'LicenseService'],
    ...['ManagerDiagnosticData', 'ManagerNetworkProtocol', 'MessageRegistry', 'Power', 'PowerSubsystem'],
    ...['PrivilegeRegistry', 'SecurityPolicy', 'ServiceConditions', 'SessionService', 'TaskService'],
    ...['TelemetryService', 'Thermal', 'ThermalMetrics', 'ThermalSubsystem'],
  ]),
  ...rows(byUsers, ['AccountService', 'ManagerAccountCollection']),
  ...rows(certificates, withCollections('Certificate')),
  ...rows({ read: manager, write: manager }, ['CertificateLocations']),
  ...rows(registries, withCollections('MessageRegistryFile')),
  ...rows(logs, withCollections('LogService', 'LogEntry')),
  ...rows(interfaces, withCollections('EthernetInterface')),
  ...rows(metrics, ['EnvironmentMetrics']),
  // The pipeline does not check `read` for the service root, because its GET needs no login.
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

/** No account meets this requirement. */
const unmeetable: Requirement = { any: [] };

/** Returns whether the table has a row for an entity. */
export function hasPrivilegeRow(entity: string): boolean {
  return table.has(entity);
}

/**
 * Returns the privileges that a method requires. No account has access to an entity without a row, or
 * with a method other than GET, HEAD, POST, PATCH, PUT and DELETE.
 * @param uri the resource's path or template, because the place of a resource changes the
 *   requirement: an EthernetInterface below `/redfish/v1/Managers` belongs to the manager.
 */
export function requirementOf(entity: string, uri: string, method: string): Requirement {
  const row = table.get(entity);
  if (row === undefined) return unmeetable;
  const override = row.below?.[uri.split('/')[3] ?? ''];
  const secret = row.secret?.uriPattern.test(uri) === true ? row.secret.read : undefined;
  switch (method) {
    case 'GET':
      return { any: secret ?? override?.read ?? row.read };
    case 'HEAD':
      return { any: secret ?? override?.read ?? row.head ?? row.read };
    case 'POST':
      return { any: override?.write ?? row.post ?? row.write };
    case 'DELETE':
      return { any: override?.write ?? row.delete ?? row.write };
    case 'PATCH':
    case 'PUT': {
      const any = override?.write ?? row.write;
      const properties = method === 'PATCH' ? row.patchProperties : undefined;
      return properties === undefined ? { any } : { any, properties };
    }
    default:
      return unmeetable;
  }
}
