/**
 * Tests each requirement of the profiles of OpenStack's Ironic and of the Open Compute Project, in
 * our own words. With RACKLESS_REDFISH_SCHEMAS, also tests Ironic's own file.
 * docs/internals/conformance-rules.md lists all rules.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { crawl, type Crawled } from './crawler.js';
import { faultsOfRow, rowsOf, type Profile, type ProfileRow } from './profile-rows.js';
import { administrator, root, sessions, startRuleService, type RuleService } from './rule-service.js';

let service: RuleService;
let all: ReadonlyMap<string, Crawled>;

beforeAll(async () => {
  service = await startRuleService();
  // Each power-on creates entries in the logs, which the rows also check.
  for (const machine of await service.members(`${root}/Systems`)) {
    await service.ask('POST', `${machine}/Actions/ComputerSystem.Reset`, { body: { ResetType: 'On' } });
  }
  const { headers } = await service.anonymous('POST', sessions, { body: administrator });
  all = await crawl(service.port, { 'X-Auth-Token': String(headers['x-auth-token']) });
});
afterAll(() => service.close());

/** The title of a test, and the requirement that the test checks. */
type Named = readonly [string, ProfileRow];
/** Requires only that properties exist. */
const existing = (type: string, names: readonly string[], below?: string): readonly Named[] =>
  names.map((at) => [`${type} ${at}`, { type, at, ...(below === undefined ? {} : { below }) }]);

const managers = `${root}/Managers/`;
const systems = `${root}/Systems/`;

const ironic: readonly Named[] = [
  [
    'the service root leads to the systems',
    { type: 'ServiceRoot', at: 'Systems', linksTo: 'ComputerSystemCollection' },
  ],
  ['there is a system', { type: 'ComputerSystemCollection', at: 'Members', atLeast: 1 }],
  [
    'the boot override can be Once and Continuous',
    { type: 'ComputerSystem', at: 'Boot/BootSourceOverrideEnabled', writable: true, supports: ['Once', 'Continuous'] },
  ],
  [
    'the boot mode is writable, also on BIOS machines',
    { type: 'ComputerSystem', at: 'Boot/BootSourceOverrideMode', writable: true },
  ],
  [
    'the boot target can be changed to network, disk and CD',
    { type: 'ComputerSystem', at: 'Boot/BootSourceOverrideTarget', writable: true, supports: ['Pxe', 'Hdd', 'Cd'] },
  ],
  [
    'a reset has the types that Ironic sends',
    {
      type: 'ComputerSystem',
      action: 'Reset',
      parameters: { ResetType: ['On', 'ForceOff', 'ForceRestart', 'GracefulShutdown', 'GracefulRestart', 'Nmi'] },
    },
  ],
  [
    'the deprecated IndicatorLED is shown and writable',
    { type: 'ComputerSystem', at: 'IndicatorLED', writable: true, anyOf: ['Lit', 'Off', 'Blinking'] },
  ],
  ...['Bios', 'SecureBoot'].map((name): Named => [
    `a UEFI machine leads to its ${name}`,
    { type: 'ComputerSystem', at: name, linksTo: name, optional: name === 'SecureBoot' },
  ]),
  ...(
    [
      ['EthernetInterfaces', 'EthernetInterfaceCollection'],
      ['Processors', 'ProcessorCollection'],
      ['SimpleStorage', 'SimpleStorageCollection'],
      ['Storage', 'StorageCollection'],
      ['VirtualMedia', 'VirtualMediaCollection'],
    ] as const
  ).map(([at, linksTo]): Named => [`a system leads to its ${at}`, { type: 'ComputerSystem', at, linksTo }]),
  ...existing('ComputerSystem', ['BiosVersion', 'Manufacturer', 'MemorySummary/TotalSystemMemoryGiB', 'Links/Chassis']),
  ...existing('Bios', ['AttributeRegistry']),
  ['a BIOS leads to its settings', { type: 'Bios', at: '@Redfish.Settings/SettingsObject', linksTo: 'Bios' }],
  ['Secure Boot can be enabled and disabled', { type: 'SecureBoot', at: 'SecureBootEnable', writable: true }],
  [
    'the keys of Secure Boot can be reset',
    {
      type: 'SecureBoot',
      action: 'ResetKeys',
      parameters: { ResetKeysType: ['ResetAllKeysToDefault', 'DeleteAllKeys'] },
    },
  ],
  ...existing('EthernetInterface', ['MACAddress', 'Status/State', 'Status/Health', 'Id', 'Name', 'SpeedMbps'], systems),
  ...existing('Processor', ['ProcessorArchitecture', 'TotalThreads', 'TotalCores', 'Status/State']),
  ['a storage has version 1.9.0 or newer', { type: 'Storage', since: '1.9.0' }],
  [
    'a storage leads to its controllers',
    { type: 'Storage', at: 'Controllers', linksTo: 'StorageControllerCollection' },
  ],
  ['a storage has a controller', { type: 'StorageControllerCollection', at: 'Members', atLeast: 1 }],
  ['a storage leads to its volumes', { type: 'Storage', at: 'Volumes', linksTo: 'VolumeCollection' }],
  ['a storage leads to its drives', { type: 'Storage', at: 'Drives', linksTo: 'Drive' }],
  ...existing('StorageController', ['SupportedRAIDTypes']),
  ...existing('Drive', ['MediaType', 'Protocol', 'Status/State', 'Status/Health', 'CapacityBytes']),
  ['a volume has version 1.3.1 or newer', { type: 'Volume', since: '1.3.1' }],
  ...existing('Volume', ['RAIDType', 'CapacityBytes']),
  ['volumes can be created', { type: 'VolumeCollection', creates: true }],
  ...existing('VolumeCollection', ['@Redfish.OperationApplyTimeSupport/SupportedValues']),
  ...existing('SimpleStorage', ['Devices/CapacityBytes', 'Devices/Name', 'Devices/Status/State']),
  [
    'firmware can be updated from a URI, for the targets of the client',
    { type: 'UpdateService', action: 'SimpleUpdate', parameters: { ImageURI: [], TransferProtocol: [], Targets: [] } },
  ],
  ...['Image', 'Inserted', 'WriteProtected'].map((at): Named => [
    `the ${at} of virtual media is writable`,
    { type: 'VirtualMedia', at, writable: true },
  ]),
  ...existing('VirtualMedia', ['MediaTypes', 'ConnectedVia']),
  [
    'an image can be inserted with every parameter that Ironic knows',
    {
      type: 'VirtualMedia',
      action: 'InsertMedia',
      parameters: { Image: [], Inserted: [], WriteProtected: [], TransferMethod: ['Upload'], TransferProtocolType: [] },
    },
  ],
  ['an image can be ejected', { type: 'VirtualMedia', action: 'EjectMedia' }],
  ['a chassis leads to its power', { type: 'Chassis', at: 'Power', linksTo: 'Power' }],
  ['a chassis leads to its temperatures', { type: 'Chassis', at: 'Thermal', linksTo: 'Thermal' }],
  ...existing('Chassis', ['UUID']),
  ...existing('Manager', ['FirmwareVersion']),
  ...(
    [
      ['SessionService', 'SessionService'],
      ['Tasks', 'TaskService'],
      ['UpdateService', 'UpdateService'],
    ] as const
  ).map(([at, linksTo]): Named => [`the service root leads to ${linksTo}`, { type: 'ServiceRoot', at, linksTo }]),
];

const addresses = ['Address', 'SubnetMask', 'AddressOrigin'].map((name) => `IPv4Addresses/${name}`);
const openCompute: readonly Named[] = [
  ...existing('ServiceRoot', ['AccountService', 'UUID', 'RedfishVersion', 'Chassis', 'Managers', 'SessionService']),
  ...existing('AccountService', ['Accounts']),
  ['there is an account', { type: 'ManagerAccountCollection', at: 'Members', atLeast: 1 }],
  ...(['ChassisCollection', 'ManagerCollection', 'EthernetInterfaceCollection'] as const).map((type): Named => [
    `a ${type} has a member`,
    { type, at: 'Members', atLeast: 1 },
  ]),
  ...existing('Chassis', [
    ...['ChassisType', 'Manufacturer', 'Model', 'SerialNumber', 'SKU', 'PartNumber', 'PowerState'],
    ...['Status/State', 'Status/Health', 'Links/ManagedBy', 'Links/ComputerSystems'],
  ]),
  ['the asset tag of a chassis is writable', { type: 'Chassis', at: 'AssetTag', writable: true }],
  ...existing('ComputerSystem', [
    ...[
      'SystemType',
      'SerialNumber',
      'Model',
      'SKU',
      'PartNumber',
      'PowerState',
      'UUID',
      'Status/State',
      'Status/Health',
    ],
    ...[
      'ProcessorSummary/Count',
      'ProcessorSummary/Model',
      'Boot/UefiTargetBootSourceOverride',
      'LogServices',
      'Links/ManagedBy',
    ],
  ]),
  ['the asset tag of a system is writable', { type: 'ComputerSystem', at: 'AssetTag', writable: true }],
  ['an interface has version 1.1.0 or newer', { type: 'EthernetInterface', since: '1.1.0' }],
  ...([systems, managers] as const).flatMap((below) =>
    existing(
      'EthernetInterface',
      [
        ...['MACAddress', 'SpeedMbps', 'InterfaceEnabled', 'LinkStatus', 'Status/State', 'Status/Health'],
        ...['HostName', 'FQDN', 'NameServers', 'IPv4Addresses', ...addresses],
      ],
      below,
    ).map(([name, row]): Named => [`${name} of ${below === systems ? 'systems' : 'managers'}`, row]),
  ),
  ...['HostName', 'FQDN', 'NameServers', 'IPv4Addresses'].map((at): Named => [
    `${at} of a manager's interface is writable`,
    { type: 'EthernetInterface', below: managers, at, writable: true },
  ]),
  ...existing('Manager', ['ManagerType', 'UUID', 'Status', 'NetworkProtocol', 'EthernetInterfaces', 'LogServices']),
  [
    'the serial console of a manager is available over SSH',
    { type: 'Manager', at: 'SerialConsole/ConnectTypesSupported', anyOf: ['SSH', 'IPMI'] },
  ],
  ['a manager can be reset', { type: 'Manager', action: 'Reset', parameters: { ResetType: ['ForceRestart'] } }],
  ...existing('ManagerNetworkProtocol', [
    ...['HostName', 'FQDN', 'Status', 'HTTP/ProtocolEnabled', 'HTTP/Port', 'HTTPS/ProtocolEnabled', 'HTTPS/Port'],
  ]),
  ...existing('ManagerNetworkProtocol', [
    ...['SSDP/ProtocolEnabled', 'SSDP/Port', 'SSDP/NotifyMulticastIntervalSeconds', 'SSDP/NotifyTTL'],
    ...['SSH/ProtocolEnabled', 'SSH/Port'],
  ]).map(([name, row]): Named => [`${name}, where it is shown`, { ...row, onlyWithParent: true }]),
  ...existing('LogService', ['Entries']),
  ['a log can be cleared', { type: 'LogService', action: 'ClearLog' }],
  ...existing('LogEntry', ['Created', 'EntryType', 'Message', 'Severity']),
  ...existing('Power', [
    ...['PowerControl/PowerConsumedWatts', 'PowerControl/PowerCapacityWatts'],
    ...['PowerControl/PowerLimit/LimitInWatts', 'PowerControl/PowerLimit/LimitException'],
  ]),
  ['the temperatures have version 1.1.0 or newer', { type: 'Thermal', since: '1.1.0' }],
  ['there are at least three temperatures', { type: 'Thermal', at: 'Temperatures', atLeast: 3 }],
  ...existing('Thermal', ['Temperatures/ReadingCelsius', 'Temperatures/Status']),
  [
    'CPU, intake and board have a temperature',
    { type: 'Thermal', at: 'Temperatures/PhysicalContext', allOf: ['CPU', 'Intake', 'SystemBoard'] },
  ],
];

describe.each([
  ["Ironic's profile", ironic],
  ['the profiles of Open Compute', openCompute],
])('%s', (_profile, rows) => {
  it.each(rows)('is met by the service: %s', (_name, row) => {
    expect(faultsOfRow(row, all)).toEqual([]);
  });
});

describe('a BIOS', () => {
  // DMTF's interoperability validator treats the list itself as a value and searches it for allowed values.
  it('lists its apply times in the only way that the validator can read', async () => {
    for (const machine of await service.members(`${root}/Systems`)) {
      const { '@Redfish.Settings': settings } = await service.get(`${machine}/Bios`);
      expect(settings).toMatchObject({ 'SupportedApplyTimes@Redfish.AllowableValues': ['OnReset'] });
      expect(settings).not.toHaveProperty('SupportedApplyTimes');
    }
  });
});

describe('the service root', () => {
  it('has an existing version of Redfish, 1.6.0 or newer, as Ironic requires', async () => {
    const { RedfishVersion: version } = await service.get(`${root}/`);
    expect(version).toMatch(/^1\.(?:[6-9]|1\d|2[0-3])\.\d+$/);
  });
});

const folder = process.env['RACKLESS_REDFISH_SCHEMAS'];
/** Whether DMTF's files are available. With RACKLESS_REQUIRE_ALL a missing path is a failure, not a skip. */
const isChecked = folder !== undefined || process.env['RACKLESS_REQUIRE_ALL'] === '1';

describe("the file of Ironic's profile", () => {
  (isChecked ? it : it.skip)('requires nothing that is missing', () => {
    const file = join(folder ?? '', 'profiles', 'OpenStackIronicProfile.v1_2_0.json');
    const rows = rowsOf(JSON.parse(readFileSync(file, 'utf8')) as Profile); // A profile of DSP0272.
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.flatMap((row) => faultsOfRow(row, all))).toEqual([]);
  });
});
