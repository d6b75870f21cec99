import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspectSettings } from './inspect.js';
import { loadSettings } from './load.js';

let folder: string;
const pathOf = (name: string) => path.join(folder, name);

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-inspect-'));
  writeFileSync(pathOf('text'), 'no PEM');
  writeFileSync(pathOf('firmware'), '');
});

afterEach(() => rmSync(folder, { recursive: true }));

/**
 * Returns the faults and warnings of the inspection of a configuration, without the name of the folder. Adds a line
 * with a loopback address in front, so `text` begins at line 2. Fails if the text itself has a fault.
 */
function inspect(text: string) {
  writeFileSync(pathOf('bmc.conf'), `EMULATOR_LISTEN_IP = '127.0.0.1'\n${text}`);
  const loaded = loadSettings({ file: pathOf('bmc.conf') });
  expect(loaded.faults).toEqual([]);
  const { faults, warnings } = inspectSettings(loaded, { OS_CLIENT_CONFIG_FILE: pathOf('clouds.yaml') });
  const withoutFolder = (lines: readonly string[]) => lines.map((line) => line.replaceAll(`${folder}/`, ''));
  return { faults: withoutFolder(faults), warnings: withoutFolder(warnings) };
}

/** Creates a key and its self-signed certificate: `NAME.key` and `NAME.pem` in the folder. */
function makePair(name: string): void {
  const options = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=localhost'];
  execFileSync(
    'openssl',
    ['req', '-x509', ...options, '-keyout', pathOf(`${name}.key`), '-out', pathOf(`${name}.pem`)],
    {
      stdio: 'pipe',
    },
  );
}

describe('the inspection of settings', () => {
  it('warns about EMULATOR_OS_FILTER without a cloud; a filter with an unknown condition cannot be loaded', () => {
    expect(inspect("EMULATOR_OS_FILTER = {'name': 'web-*'}").warnings).toEqual([
      'bmc.conf:2: EMULATOR_OS_FILTER has no effect without EMULATOR_OS_CLOUD or --os-cloud',
    ]);
    writeFileSync(pathOf('bmc.conf'), "EMULATOR_OS_FILTER = {'tag': ['x']}\n");
    expect(loadSettings({ file: pathOf('bmc.conf') }).faults).toEqual([
      expect.stringMatching(/bmc\.conf:1: EMULATOR_OS_FILTER has no key 'tag'; it must be a mapping such as/),
    ]);
  });

  it('reports all faults in the settings of the cloud together, and each other driver that is also set', () => {
    const cloud = 'bmc.conf:2: EMULATOR_OS_CLOUD cannot be used:';
    const missing = 'environment OS_CLIENT_CONFIG_FILE: clouds.yaml cannot be read: there is no such file';
    expect(inspect("EMULATOR_OS_CLOUD = 'lab'").faults).toEqual([`${cloud} ${missing}`]);
    writeFileSync(pathOf('clouds.yaml'), 'clouds:\n  lab:\n    auth:\n      auth_url: http://k\n      project_id: p\n');
    expect(inspect("EMULATOR_OS_CLOUD = 'lab'").faults).toEqual([
      `${cloud} clouds.yaml:3: auth.username is missing`,
      `${cloud} clouds.yaml:3: auth.user_domain_name is missing`,
      `${cloud} clouds.yaml:3: auth.password is missing`,
    ]);
    writeFileSync(pathOf('clouds.yaml'), 'clouds: {lab: {auth: {auth_url: "http://k", token: t, project_id: p}}}\n');
    expect(inspect("EMULATOR_OS_CLOUD = 'lab'").faults).toEqual([]);
    const others = "EMULATOR_LIBVIRT_URI = 'qemu:///system'\nEMULATOR_FAKE_DRIVER = True\n";
    expect(inspect(`${others}EMULATOR_OS_CLOUD = 'lab'`).faults).toEqual([
      'bmc.conf:2: EMULATOR_LIBVIRT_URI is set together with EMULATOR_OS_CLOUD: a daemon serves only one of them',
      'bmc.conf:3: EMULATOR_FAKE_DRIVER is set together with EMULATOR_OS_CLOUD: a daemon serves only one of them',
    ]);
  });

  it('gives a warning for drives of a storage that is not configured', () => {
    const uuid = 'da69abcc-dae0-4913-9a7b-d344043097c0';
    const text = [
      `EMULATOR_STORAGE = {'${uuid}': [{'Id': '1'}]}`,
      `EMULATOR_DRIVES = {('${uuid}', '1'): [{'Id': 'D'}], ('${uuid}', '2'): [{'Id': 'D'}]}`,
      `EMULATOR_VOLUMES = {('${uuid}', '1'): []}`,
    ];
    const warning =
      `bmc.conf:3: EMULATOR_DRIVES has no effect for ["${uuid}","2"]: ` + 'EMULATOR_STORAGE names no such storage';
    expect(inspect(text.join('\n')).warnings).toEqual(expect.arrayContaining([warning]));
    expect(inspect(text.join('\n')).warnings.filter((line) => line.includes('no such storage'))).toEqual([warning]);
  });

  it.each([
    [
      "SUSHY_EMULATOR_IRONIC_CLOUD = 'lab'",
      'bmc.conf:2: EMULATOR_IRONIC_CLOUD is set, and there is no Ironic backend yet',
    ],
    [
      "EMULATOR_SSL_CERT = 'text'",
      'bmc.conf:2: EMULATOR_SSL_CERT is set and EMULATOR_SSL_KEY is not: HTTPS needs both',
    ],
    ["EMULATOR_SSL_KEY = 'text'", 'bmc.conf:2: EMULATOR_SSL_KEY is set and EMULATOR_SSL_CERT is not: HTTPS needs both'],
    [
      "EMULATOR_SSL_CERT = 'none'\nEMULATOR_SSL_KEY = 'none'",
      'bmc.conf:2: EMULATOR_SSL_CERT cannot be used: reading the certificate none: there is no such file',
    ],
    [
      "EMULATOR_AUTH_FILE = 'none'",
      'bmc.conf:2: EMULATOR_AUTH_FILE cannot be used: none: the password file cannot be read: there is no such file',
    ],
    [
      "EMULATOR_VMEDIA_CA_FILE = 'none'",
      'bmc.conf:2: EMULATOR_VMEDIA_CA_FILE cannot be used: none: there is no such file',
    ],
    [
      "EMULATOR_VMEDIA_CA_FILE = 'text'",
      'bmc.conf:2: EMULATOR_VMEDIA_CA_FILE cannot be used: text: it is not a PEM file',
    ],
  ])('reports a fault with the number of its line: %s', (text, fault) => {
    expect(inspect(text)).toEqual({ faults: [fault], warnings: [] });
  });

  it.each([
    ['x', 'a libvirt URI looks like qemu:///system'],
    ['qemu+ssh://h/system?no_verify=yes', 'parameter "no_verify" must be a number, not "yes"'],
  ])('reports the invalid libvirt URI %s, unless the fake driver is selected', (uri, why) => {
    const setting = `EMULATOR_LIBVIRT_URI = '${uri}'\n`;
    expect(inspect(setting)).toEqual({
      faults: [`bmc.conf:2: EMULATOR_LIBVIRT_URI cannot be used: reading the connection URI "${uri}": ${why}`],
      warnings: [],
    });
    expect(inspect(`${setting}EMULATOR_FAKE_DRIVER = True\n`)).toEqual({ faults: [], warnings: [] });
  });

  it('reports each wrong libvirt host of a mapping with its name, and a list without hosts', () => {
    expect(inspect("EMULATOR_LIBVIRT_URI = {'a': 'x', 'b': 'qemu:///system', 'c d': 'qemu+tcp://h/system'}\n")).toEqual(
      {
        faults: [
          expect.stringMatching(
            /^bmc\.conf:2: EMULATOR_LIBVIRT_URI\['a'\] cannot be used: reading the connection URI "x"/,
          ),
          expect.stringMatching(/^bmc\.conf:2: EMULATOR_LIBVIRT_URI\['c d'\] cannot be used: the name of a host has/),
        ],
        warnings: [],
      },
    );
    expect(inspect('EMULATOR_LIBVIRT_URI = []\n').faults).toEqual(['bmc.conf:2: EMULATOR_LIBVIRT_URI names no host']);
  });

  it('accepts a valid certificate, and reports the key of another certificate as a fault of the key', () => {
    makePair('one');
    makePair('two');
    const caFile = "EMULATOR_VMEDIA_CA_FILE = 'one.pem'\n";
    expect(inspect(`EMULATOR_SSL_CERT = 'one.pem'\nEMULATOR_SSL_KEY = 'one.key'\n${caFile}`)).toEqual({
      faults: [],
      warnings: [],
    });
    expect(inspect("EMULATOR_SSL_CERT = 'one.pem'\nEMULATOR_SSL_KEY = 'two.key'\n").faults).toEqual([
      'bmc.conf:3: EMULATOR_SSL_KEY cannot be used: using the key two.key: it is not the key of the certificate',
    ]);
  });

  it('reports the invalid lines of a password file, and warns about a file without users', () => {
    writeFileSync(pathOf('users'), 'admin:plain\n');
    expect(inspect("EMULATOR_AUTH_FILE = 'users'")).toEqual({
      faults: [
        'users:1: the password is plain text or hashed with crypt (htpasswd -p, -d), which is not accepted; ' +
          'make a bcrypt hash with: bmc-daemon htpasswd FILE USER',
      ],
      warnings: [],
    });
    writeFileSync(pathOf('users'), '');
    expect(inspect("EMULATOR_AUTH_FILE = 'users'")).toEqual({
      faults: [],
      warnings: ['users: the password file has no user, so no user can log in'],
    });
  });

  it('warns about missing firmware with mode, architecture and path, for local hosts only', () => {
    const map =
      "EMULATOR_BOOT_LOADER_MAP = {'UEFI': {'x86_64': 'firmware', 'aarch64': '/none/AAVMF.fd'}, " +
      "'Legacy': {'x86_64': None}}\n";
    expect(inspect(map)).toEqual({
      faults: [],
      warnings: [
        'bmc.conf:2: EMULATOR_BOOT_LOADER_MAP names a firmware for UEFI on aarch64 that does not exist: /none/AAVMF.fd',
      ],
    });
    expect(inspect(`${map}EMULATOR_LIBVIRT_URI = 'qemu+ssh://root@host/system'\n`).warnings).toEqual([]);
  });

  it('warns about a reachable address without authentication, and about empty lists and mappings', () => {
    expect(inspect("EMULATOR_LISTEN_IP = '0.0.0.0'").warnings).toEqual([
      'no EMULATOR_AUTH_FILE: every client that reaches 0.0.0.0 may switch every machine on and off',
    ]);
    expect(inspect('EMULATOR_ALLOWED_INSTANCES = []').warnings).toEqual([
      'bmc.conf:2: EMULATOR_ALLOWED_INSTANCES is empty: no machine is served',
    ]);
    expect(inspect('EMULATOR_VMEDIA_ALLOWED_HOSTS = []').warnings).toEqual([
      'bmc.conf:2: EMULATOR_VMEDIA_ALLOWED_HOSTS is empty: no image can be inserted; None allows every host',
    ]);
    expect(inspect('EMULATOR_VMEDIA_DEVICES = {}').warnings).toEqual([
      'bmc.conf:2: EMULATOR_VMEDIA_DEVICES is empty: no machine has a virtual media drive',
    ]);
  });

  it('warns about a console log that the feature set does not have, unless True is only the default', () => {
    const featureSet = "EMULATOR_FEATURE_SET = 'vmedia'\n";
    expect(inspect(`EMULATOR_CONSOLE_LOG = True\n${featureSet}`)).toEqual({
      faults: [],
      warnings: [
        'bmc.conf:2: EMULATOR_CONSOLE_LOG has no effect with the feature set vmedia: only full has console logs',
      ],
    });
    expect(inspect(featureSet).warnings).toEqual([]);
    expect(inspect(`EMULATOR_CONSOLE_LOG = False\n${featureSet}`).warnings).toEqual([]);
    expect(inspect("EMULATOR_CONSOLE_LOG = True\nEMULATOR_FEATURE_SET = 'full'\n").warnings).toEqual([]);
  });

  it.each([
    ['EMULATOR_AUTH_FILE = 5\n'],
    ["EMULATOR_AUTH_FILE = open('users')\n"],
    ['EMULATOR_LISTEN_IP = 5\n'],
    ['EMULATOR_BOOT_LOADER_MAP = 5\nEMULATOR_AUTH_FILE = None\nEMULATOR_LISTEN_IP = "::1"\n'],
    ["EMULATOR_SSL_CERT = 5\nEMULATOR_SSL_KEY = 'key'\nEMULATOR_LISTEN_IP = '::1'\n"],
    [undefined],
  ])('does not check the default that replaces a value with a fault: %j', (text) => {
    if (text !== undefined) writeFileSync(pathOf('bmc.conf'), text);
    const loaded = loadSettings({ file: pathOf('bmc.conf') });
    expect(loaded.faults).toHaveLength(1);
    // This host may not have the default firmware, so the test sets the map. A missing firmware must not cause a
    // warning if the map itself has the fault, or if the file could not be read (the row undefined).
    const mapIsUnknown = text === undefined || text.includes('BOOT_LOADER');
    const bootLoaderMap = mapIsUnknown ? { UEFI: { x86_64: '/none/firmware' } } : {};
    const settings = { ...loaded.settings, bootLoaderMap };
    expect(inspectSettings({ ...loaded, settings })).toMatchObject({ faults: [], warnings: [] });
  });
});
