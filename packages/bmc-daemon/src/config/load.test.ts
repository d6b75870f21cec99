import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { renderEffectiveSettings } from './effective.js';
import { configFileOf } from './environment.js';
import { loadSettings, type LoadOptions } from './load.js';
import { contractSettings } from './rows/contract.js';
import { settingKeys, settingsTable } from './settings.js';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-config-'));
  file = path.join(folder, 'bmc.conf');
});

afterEach(() => rmSync(folder, { recursive: true }));

function load(text: string, options: Omit<LoadOptions, 'file'> = {}) {
  writeFileSync(file, text);
  const loaded = loadSettings({ file, ...options });
  const withoutFolder = (lines: readonly string[]) => lines.map((line) => line.replaceAll(file, 'bmc.conf'));
  return { ...loaded, faults: withoutFolder(loaded.faults), warnings: withoutFolder(loaded.warnings) };
}

describe('the effective settings', () => {
  it('are the documented defaults if there is no file, no flag and no variable', () => {
    const { settings, origins, faults, warnings } = loadSettings({});
    expect({ faults, warnings }).toEqual({ faults: [], warnings: [] });
    expect(new Set(Object.values(origins))).toEqual(new Set(['default']));
    const contractKeys = settingKeys.filter((key) => key in contractSettings);
    expect(Object.fromEntries(contractKeys.map((key) => [settingsTable[key].name, settings[key]]))).toEqual({
      EMULATOR_LISTEN_IP: '0.0.0.0',
      EMULATOR_LISTEN_PORT: 8000,
      EMULATOR_SSL_CERT: null,
      EMULATOR_SSL_KEY: null,
      EMULATOR_OS_CLOUD: null,
      EMULATOR_LIBVIRT_URI: 'qemu:///system',
      EMULATOR_AUTH_FILE: null,
      EMULATOR_IGNORE_BOOT_DEVICE: false,
      EMULATOR_BOOT_LOADER_MAP: { UEFI: { x86_64: null, aarch64: null }, Legacy: { x86_64: null, aarch64: null } },
    });
    expect(settings.dmtfStrict).toBe(false);
  });

  it('prefer flags, then the file, then the environment, and EMULATOR_ to SUSHY_EMULATOR_ in file and environment', () => {
    const environment = {
      EMULATOR_LISTEN_PORT: '1',
      SUSHY_EMULATOR_LISTEN_PORT: '2',
      SUSHY_EMULATOR_LISTEN_IP: '127.0.0.1',
      EMULATOR_STORAGE_POOL: 'pool',
      SUSHY_EMULATOR_LIBVIRT_URL: 'test:///default',
      EMULATOR_DMTF_STRICT: '',
    };
    expect(loadSettings({ environment }).settings.listenPort).toBe(1);
    const text = 'SUSHY_EMULATOR_LISTEN_PORT = 4\nEMULATOR_LISTEN_PORT = 3\n';
    const { settings, origins, faults } = load(text, { environment });
    expect(faults).toEqual([]);
    expect(settings).toMatchObject({
      listenPort: 3,
      listenIp: '127.0.0.1',
      storagePool: 'pool',
      libvirtUri: 'test:///default',
      dmtfStrict: false,
    });
    expect(origins).toMatchObject({
      listenPort: `${file}:2`,
      listenIp: 'environment SUSHY_EMULATOR_LISTEN_IP',
      storagePool: 'environment EMULATOR_STORAGE_POOL',
      libvirtUri: 'environment SUSHY_EMULATOR_LIBVIRT_URL',
      dmtfStrict: 'default',
    });
    const flagged = load(text, { environment, flags: { listenPort: '5', dmtfStrict: true } });
    expect([flagged.settings.listenPort, flagged.origins.listenPort]).toEqual([5, '--port']);
    expect([flagged.settings.dmtfStrict, flagged.origins.dmtfStrict]).toEqual([true, '--dmtf-strict']);
  });

  it('have the types of the settings, although the environment has only texts', () => {
    const { settings, faults } = loadSettings({
      environment: {
        EMULATOR_SSL_CERT: 'None',
        EMULATOR_LISTEN_IP: '::1',
        EMULATOR_DMTF_STRICT: 'yes',
        EMULATOR_IGNORE_BOOT_DEVICE: 'True',
        EMULATOR_DISABLE_POWER_OFF: '0',
        EMULATOR_GRACEFUL_RESTART_WAIT_SECONDS: '1.5',
        EMULATOR_ALLOWED_INSTANCES: "['a', 'b']",
        EMULATOR_BOOT_LOADER_MAP: "{'UEFI': {'x86_64': 'fw.fd'}}",
      },
      workingDirectory: '/srv',
    });
    expect(faults).toEqual([]);
    expect(settings).toMatchObject({
      sslCert: null,
      listenIp: '::1',
      dmtfStrict: true,
      ignoreBootDevice: true,
      disablePowerOff: false,
      gracefulRestartWaitSeconds: 1.5,
      allowedInstances: ['a', 'b'],
      bootLoaderMap: { UEFI: { x86_64: '/srv/fw.fd' } },
    });
  });

  it('have paths relative to the folder of the file, or to the working directory for flags and environment', () => {
    const text =
      "EMULATOR_AUTH_FILE = 'users'\nEMULATOR_SSL_CERT = '../cert'\nEMULATOR_SSL_KEY = ''\nEMULATOR_STATE_DIR = '/s'\n";
    const { settings } = load(text, {
      environment: { EMULATOR_VMEDIA_CA_FILE: 'ca' },
      flags: { sslKey: 'key' },
      workingDirectory: '/cwd',
    });
    expect(settings).toMatchObject({
      authFile: path.join(folder, 'users'),
      sslCert: path.join(path.dirname(folder), 'cert'),
      sslKey: '/cwd/key',
      stateDir: '/s',
      vmediaCaFile: '/cwd/ca',
    });
  });

  it('have None for an empty path of a certificate, key or CA, with a warning unless it is in the environment', () => {
    const { settings, faults, warnings } = load("EMULATOR_SSL_CERT = ''\nEMULATOR_STORAGE_POOL = None\n", {
      flags: { sslKey: '' },
      environment: { EMULATOR_VMEDIA_CA_FILE: '' },
    });
    expect([settings.sslCert, settings.sslKey, settings.vmediaCaFile, faults]).toEqual([null, null, null, []]);
    expect(warnings).toEqual([
      'bmc.conf:1: EMULATOR_SSL_CERT is empty, which is the same as None',
      'command line: --ssl-key is empty, which is the same as None',
    ]);
  });

  it('are printed as a file with the same settings, with origins and without passwords', () => {
    const text =
      `EMULATOR_LISTEN_IP = "it's \\"quoted\\" \\\\ ä"\n` +
      `EMULATOR_BOOT_LOADER_MAP = {'UEFI': {'x86_64': '/fw'}}\nEMULATOR_ALLOWED_INSTANCES = ['a']\n`;
    const first = load(text, { flags: { listenPort: '99' } });
    const printed = renderEffectiveSettings(first);
    expect(printed).toContain(`# ${file}:2\n`);
    expect(printed).toMatch(/^EMULATOR_LISTEN_PORT = 99 +# --port$/m);
    const second = load(printed);
    expect(second.faults).toEqual([]);
    expect(second.settings).toEqual(first.settings);

    const secret = load("EMULATOR_LIBVIRT_URI = 'qemu+tcp://user:secret@host/system'");
    expect(renderEffectiveSettings(secret)).toContain("EMULATOR_LIBVIRT_URI = 'qemu+tcp://user:******@host/system'");
    expect(load("EMULATOR_LISTEN_PORT = 'redis://user:secret@host'").faults.join()).toContain(
      "'redis://user:******@host'",
    );
    const delimiters = load("EMULATOR_LIBVIRT_URI = 'qemu+tcp://user:a/secret?b#c@host/system'");
    expect(renderEffectiveSettings(delimiters)).toContain("= 'qemu+tcp://user:******@host/system'");
    const hosts = load("EMULATOR_LIBVIRT_URI = {'a': 'qemu+tcp://user:secret@host/system', 'b': 'qemu:///system'}");
    expect(renderEffectiveSettings(hosts)).toContain(
      "EMULATOR_LIBVIRT_URI = {'a': 'qemu+tcp://user:******@host/system', 'b': 'qemu:///system'}",
    );
    const swapped = load("EMULATOR_LIBVIRT_URI = {'qemu+tcp://user:secret@host/system': 'a'}");
    expect(renderEffectiveSettings(swapped)).toContain("{'qemu+tcp://user:******@host/system': 'a'}");
    const wrong = load("EMULATOR_LIBVIRT_URI = {'qemu+tcp://user:secret@host/system': 5}");
    expect(wrong.faults.join()).toContain("EMULATOR_LIBVIRT_URI['qemu+tcp://user:******@host/system'] must be");
    const escaped = load("EMULATOR_LIBVIRT_URI = 'qemu+tcp://user%3Asecret@host/system'");
    expect(renderEffectiveSettings(escaped)).not.toContain('secret');
  });

  it('can have several libvirt hosts, from the file, from a flag or from the environment', () => {
    const hosts = { 'rack-1': 'qemu+ssh://a/system', 'rack-2': 'qemu+ssh://b/system' };
    expect(load(`EMULATOR_LIBVIRT_URI = ${JSON.stringify(hosts)}`).settings.libvirtUri).toEqual(hosts);
    expect(load("EMULATOR_LIBVIRT_URI = ('qemu+ssh://a/system', 'qemu:///system')").settings.libvirtUri).toEqual([
      'qemu+ssh://a/system',
      'qemu:///system',
    ]);
    const text = "{'rack-1': 'qemu+ssh://a/system', 'rack-2': 'qemu+ssh://b/system'}";
    expect(loadSettings({ environment: { EMULATOR_LIBVIRT_URI: text } }).settings.libvirtUri).toEqual(hosts);
    expect(loadSettings({ flags: { libvirtUri: JSON.stringify(Object.values(hosts)) } }).settings.libvirtUri).toEqual(
      Object.values(hosts),
    );
    expect(loadSettings({ environment: { EMULATOR_LIBVIRT_URI: 'qemu:///session' } }).settings.libvirtUri).toBe(
      'qemu:///session',
    );
    expect(loadSettings({ environment: { EMULATOR_LIBVIRT_URI: "['qemu:///system'" } }).faults).toEqual([
      expect.stringMatching(/^environment: EMULATOR_LIBVIRT_URI must be a string that is not empty, a list/),
    ]);
  });

  it('come from the file of EMULATOR_CONFIG; if this is absent or empty, from that of SUSHY_EMULATOR_CONFIG', () => {
    expect(configFileOf({})).toBeUndefined();
    expect(configFileOf({ SUSHY_EMULATOR_CONFIG: 'b' })).toBe('b');
    expect(configFileOf({ EMULATOR_CONFIG: 'a', SUSHY_EMULATOR_CONFIG: 'b' })).toBe('a');
    expect(configFileOf({ EMULATOR_CONFIG: '', SUSHY_EMULATOR_CONFIG: 'b' })).toBe('b');
    expect(configFileOf({ EMULATOR_CONFIG: '', SUSHY_EMULATOR_CONFIG: '' })).toBeUndefined();
    expect(loadSettings({ file: '' }).faults).toEqual([
      "command line: --config must be a path (a string), not the string ''",
    ]);
  });
});

describe('faults', () => {
  it.each([
    [
      "EMULATOR_LISTEN_PORT = '80a'",
      "bmc.conf:1: EMULATOR_LISTEN_PORT must be an integer from 0 to 65535, not the string '80a'",
    ],
    [
      'import socket\nEMULATOR_LISTEN_IP = socket.gethostname()',
      "bmc.conf:2: 'socket.gethostname(…)' is Python code, which is not run; write the value itself: " +
        "EMULATOR_LISTEN_IP = '…'",
    ],
    [
      "SUSHY_EMULATOR_AUTH_FILE = f'{HERE}/htpasswd'",
      "bmc.conf:1: a string with the prefix 'f' is an expression, which is not supported; write the value " +
        "itself: SUSHY_EMULATOR_AUTH_FILE = '…'",
    ],
    [
      "EMULATOR_FAKE_SYSTEMS = [{'uuid': 'node-0', 'name': 'node-0'}]",
      "bmc.conf:1: EMULATOR_FAKE_SYSTEMS[0]['uuid'] must be as in {'uuid': " +
        "'27946b59-9e44-4fa7-8e91-f3527a1ef094', 'name': 'node-1', 'power_state': 'Off', 'nics': [{'mac': " +
        "'52:54:00:00:00:01'}]}, with its own uuid, not the string 'node-0'",
    ],
    [
      "EMULATOR_FAKE_SYSTEMS = [\n {'uuid': '27946b59-9e44-4fa7-8e91-f3527a1ef094', 'name': 'a'},\n " +
        "{'uuid': '27946B59-9e44-4fa7-8e91-f3527a1ef094', 'name': 'b'}]",
      "bmc.conf:3: EMULATOR_FAKE_SYSTEMS[1]['uuid'] must be as in {'uuid': " +
        "'27946b59-9e44-4fa7-8e91-f3527a1ef094', 'name': 'node-1', 'power_state': 'Off', 'nics': [{'mac': " +
        "'52:54:00:00:00:01'}]}, with its own uuid, not the string '27946B59-9e44-4fa7-8e91-f3527a1ef094'",
    ],
    [
      '\nSUSHY_EMULATOR_LISTEN_PORT = 70000',
      'bmc.conf:2: SUSHY_EMULATOR_LISTEN_PORT must be an integer from 0 to 65535, not 70000',
    ],
    ['EMULATOR_LISTEN_PORT = 80.5', 'bmc.conf:1: EMULATOR_LISTEN_PORT must be an integer from 0 to 65535, not 80.5'],
    ['EMULATOR_LISTEN_PORT = True', 'bmc.conf:1: EMULATOR_LISTEN_PORT must be an integer from 0 to 65535, not True'],
    ['EMULATOR_LISTEN_PORT = None', 'bmc.conf:1: EMULATOR_LISTEN_PORT must be an integer from 0 to 65535, not None'],
    [
      "EMULATOR_IGNORE_BOOT_DEVICE = 'False'",
      "bmc.conf:1: EMULATOR_IGNORE_BOOT_DEVICE must be True or False, not the string 'False'",
    ],
    ['EMULATOR_IGNORE_BOOT_DEVICE = 0', 'bmc.conf:1: EMULATOR_IGNORE_BOOT_DEVICE must be True or False, not 0'],
    ['EMULATOR_SSL_CERT = 5', 'bmc.conf:1: EMULATOR_SSL_CERT must be a path (a string) or None, not 5'],
    ["EMULATOR_AUTH_FILE = ''", "bmc.conf:1: EMULATOR_AUTH_FILE must be a path (a string) or None, not the string ''"],
    [
      "EMULATOR_LIBVIRT_URI = ''",
      'bmc.conf:1: EMULATOR_LIBVIRT_URI must be a string that is not empty, a list of such strings, or a mapping ' +
        "such as {'rack-1': 'qemu+ssh://…'}, not the string ''",
    ],
    [
      "EMULATOR_LIBVIRT_URI = {\n 'rack-1': 'qemu:///system',\n 'rack-2': None}",
      "bmc.conf:3: EMULATOR_LIBVIRT_URI['rack-2'] must be a connection URI (a string that is not empty), not None",
    ],
    [
      "EMULATOR_LIBVIRT_URI = ['qemu:///system', 5]",
      'bmc.conf:1: EMULATOR_LIBVIRT_URI[1] must be a connection URI (a string that is not empty), not 5',
    ],
    [
      "EMULATOR_FEATURE_SET = 'most'",
      "bmc.conf:1: EMULATOR_FEATURE_SET must be one of 'full', 'vmedia', 'minimum', not the string 'most'",
    ],
    [
      'EMULATOR_GRACEFUL_RESTART_WAIT_SECONDS = 1e999',
      'bmc.conf:1: EMULATOR_GRACEFUL_RESTART_WAIT_SECONDS must be a number from 0 to 86400, not Infinity',
    ],
    [
      "EMULATOR_BOOT_LOADER_MAP = {\n 'UEFI': {\n  'x86_64':\n   5,\n }}",
      "bmc.conf:4: EMULATOR_BOOT_LOADER_MAP['UEFI']['x86_64'] must be a path (a string) or None, not 5",
    ],
    [
      "EMULATOR_BOOT_LOADER_MAP = {'efi': {'x86_64': None}}",
      "bmc.conf:1: EMULATOR_BOOT_LOADER_MAP has no key 'efi'; it must be a mapping such as {'UEFI': " +
        "{'x86_64': '/path' or None}, 'Legacy': {'x86_64': None}}",
    ],
    [
      "EMULATOR_BOOT_LOADER_MAP = ['UEFI']",
      "bmc.conf:1: EMULATOR_BOOT_LOADER_MAP must be a mapping such as {'UEFI': {'x86_64': '/path' or None}, " +
        "'Legacy': {'x86_64': None}}, not a list",
    ],
    [
      "EMULATOR_ALLOWED_INSTANCES = [\n'a',\n1]",
      'bmc.conf:3: EMULATOR_ALLOWED_INSTANCES[1] must be a UUID or a name (a string), not 1',
    ],
  ])('are one line each, with file and line number: %j', (text, fault) => {
    expect(load(text).faults).toEqual([fault]);
  });
});

describe('the values of a file', () => {
  it('may include a port in quotes, as shell scripts write it', () => {
    const { settings, faults } = load("SUSHY_EMULATOR_LISTEN_PORT = '8001'");
    expect({ faults, port: settings.listenPort }).toEqual({ faults: [], port: 8001 });
  });

  it('include the notification settings of sushy-tools, which have no prefix', () => {
    const { settings, faults, warnings } = load(
      "EXTERNAL_NOTIFICATION_URL = 'http://192.0.2.1:9999'\nEXTERNAL_NOTIFICATION_CAFILE = '/ca.pem'",
    );
    expect({ faults, warnings }).toEqual({ faults: [], warnings: [] });
    expect([settings.notificationUrl, settings.notificationCaFile]).toEqual(['http://192.0.2.1:9999', '/ca.pem']);
  });

  it('include paths that are computed as in Python, relative to the file', () => {
    const { settings, faults, warnings } = load(
      'import os\nHERE = os.path.dirname(os.path.abspath(__file__))\n' +
        "SUSHY_EMULATOR_AUTH_FILE = os.path.join(HERE, 'htpasswd')",
    );
    expect({ faults, warnings }).toEqual({ faults: [], warnings: [] });
    expect(settings.authFile).toBe(path.join(folder, 'htpasswd'));
  });
});

describe('the faults of a configuration', () => {
  it('are reported together: those of the file, of the command line and of the environment', () => {
    const { faults } = load("EMULATOR_LISTEN_PORT = 'x'\ndel os\nEMULATOR_DMTF_STRICT = 1\n", {
      flags: { listenPort: 'abc', featureSet: 'most' },
      environment: { EMULATOR_ALLOWED_INSTANCES: 'a', EMULATOR_IGNORE_BOOT_DEVICE: 'maybe' },
    });
    expect(faults).toEqual([
      "bmc.conf:2: 'del' is Python code; only literal values are read (strings, numbers, None, True, False, " +
        'lists, tuples, mappings); the file is never executed',
      "bmc.conf:1: EMULATOR_LISTEN_PORT must be an integer from 0 to 65535, not the string 'x'",
      "command line: --port must be an integer from 0 to 65535, not the string 'abc'",
      "environment: EMULATOR_IGNORE_BOOT_DEVICE must be True or False, not the string 'maybe'",
      'bmc.conf:3: EMULATOR_DMTF_STRICT must be True or False, not 1',
      "command line: --feature-set must be one of 'full', 'vmedia', 'minimum', not the string 'most'",
      "environment: EMULATOR_ALLOWED_INSTANCES must be a list of UUIDs or names (strings), or None: 'a' is a " +
        'name: put text in quotes; only literal values are read (strings, numbers, None, True, False, lists, ' +
        'tuples, mappings); the file is never executed',
    ]);
  });

  it('include the reason why the file cannot be read', () => {
    expect(loadSettings({ file }).faults).toEqual([`${file}: the configuration cannot be read: there is no such file`]);
    mkdirSync(file);
    expect(loadSettings({ file }).faults).toEqual([`${file}: the configuration cannot be read: it is a folder`]);
    const latin = path.join(folder, 'latin.conf');
    writeFileSync(latin, Buffer.from("A = 'ä'", 'latin1'));
    expect(loadSettings({ file: latin }).faults).toEqual([
      `${latin}: the configuration cannot be read: it is not UTF-8`,
    ]);
  });
});

describe('warnings', () => {
  it.each([
    [
      'EMULATOR_LISTEN_PROT = 1',
      'bmc.conf:1: EMULATOR_LISTEN_PROT is not a setting; the nearest known name is EMULATOR_LISTEN_PORT',
    ],
    [
      'SUSHY_EMULATOR_VMEDIA_DEVICE = 1',
      'bmc.conf:1: SUSHY_EMULATOR_VMEDIA_DEVICE is not a setting; the nearest known name is ' +
        'SUSHY_EMULATOR_VMEDIA_DEVICES',
    ],
    ['LISTEN_PORT = 1', 'bmc.conf:1: LISTEN_PORT is not a setting; the nearest known name is EMULATOR_LISTEN_PORT'],
    ['listen_port = 1', 'bmc.conf:1: listen_port is not a setting; the nearest known name is EMULATOR_LISTEN_PORT'],
    ['DEBUG = True', 'bmc.conf:1: DEBUG is not a setting'],
    ['EMULATOR_ = 1', 'bmc.conf:1: EMULATOR_ is not a setting'],
    [
      'EMULATOR_SSL_CERTIFICATE = 1',
      'bmc.conf:1: EMULATOR_SSL_CERTIFICATE is not a setting; the nearest known name is EMULATOR_SSL_CERT',
    ],
    ['EMULATOR_VERIFY = 1', 'bmc.conf:1: EMULATOR_VERIFY is not a setting'],
    ['EMULATOR_AUTH = 1', 'bmc.conf:1: EMULATOR_AUTH is not a setting; the nearest known name is EMULATOR_AUTH_FILE'],
    [
      'emulator_listen_port = 1',
      'bmc.conf:1: emulator_listen_port is not a setting; the nearest known name is EMULATOR_LISTEN_PORT',
    ],
    [
      'sushy_emulator_listen_port = 1',
      'bmc.conf:1: sushy_emulator_listen_port is not a setting; the nearest known name is SUSHY_EMULATOR_LISTEN_PORT',
    ],
    [
      'EMULATOR_DMTF_STRICT = True\nEMULATOR_DMTF_STRICT = False',
      'bmc.conf:2: EMULATOR_DMTF_STRICT was already set on line 1; this line applies',
    ],
    [
      'EMULATOR_DMTF_STRICT = True\nSUSHY_EMULATOR_DMTF_STRICT = False',
      'bmc.conf:2: SUSHY_EMULATOR_DMTF_STRICT is ignored, because EMULATOR_DMTF_STRICT is set on line 1',
    ],
    [
      'SUSHY_EMULATOR_DMTF_STRICT = False\nEMULATOR_DMTF_STRICT = True',
      'bmc.conf:1: SUSHY_EMULATOR_DMTF_STRICT is ignored, because EMULATOR_DMTF_STRICT is set on line 2',
    ],
    [
      "SUSHY_EMULATOR_NO_MEMOIZE = []\nEMULATOR_FAKE_IPA = True\nFAKE_IPA_API_URL = 'http://192.0.2.1'",
      'bmc.conf: settings of sushy-emulator without effect here: SUSHY_EMULATOR_NO_MEMOIZE (line 1), ' +
        'EMULATOR_FAKE_IPA (line 2), FAKE_IPA_API_URL (line 3)',
    ],
    [
      "EMULATOR_BOOT_LOADER_MAP = {\n 'Uefi': {'x86_64': None}}",
      "bmc.conf:2: EMULATOR_BOOT_LOADER_MAP: 'Uefi' is read as 'UEFI'",
    ],
  ])('are given for %j', (text, warning) => {
    const { faults, warnings } = load(text);
    expect({ faults, warnings }).toEqual({ faults: [], warnings: [warning] });
  });

  it('are given for a misspelled variable, but not for a variable of another program', () => {
    const { warnings } = loadSettings({
      environment: {
        EMULATOR_LISTEN_PROT: '1',
        EMULATOR_ANDROID_QT_LIB: '1',
        EMULATOR_CONFIG: 'x',
        SUSHY_EMULATOR_DRIVES: '{}',
      },
    });
    expect(warnings).toEqual([
      'environment: EMULATOR_LISTEN_PROT is not a setting; the nearest known name is EMULATOR_LISTEN_PORT',
    ]);
  });
});
