import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serveResources } from '../../../test/support/served-resources.js';
import { listEffectiveSettings } from '../../config/effective.js';
import { loadSettings } from '../../config/load.js';
import { settingKeys, settingsTable } from '../../config/settings.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';

const id = 'RacklessServiceAttributeRegistry.v1_0_0';
const uri = `/redfish/v1/Registries/${id}`;
interface Attribute {
  readonly AttributeName: string;
  readonly CurrentValue: unknown;
  readonly Type: string;
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-settings-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Serves the settings of a file with this text and of `sources`. Returns the registry: its head and its attributes. */
async function served(text: string, sources: Parameters<typeof loadSettings>[0] = {}) {
  const file = join(folder, 'bmc.conf');
  writeFileSync(file, text);
  const loaded = loadSettings({ file, ...sources });
  expect(loaded.faults).toEqual([]);
  const { get, close } = await serveResources(new FakeDriver(), {
    effectiveSettings: () => listEffectiveSettings(loaded),
  });
  const body = await get(`${uri}/${id}.json`);
  await close();
  const { RegistryEntries, ...head } = body;
  // The resource has this form.
  const { Attributes } = RegistryEntries as { readonly Attributes: readonly Attribute[] };
  return { head, attributes: Attributes, of: (name: string) => Attributes.find((each) => each.AttributeName === name) };
}

describe('the registry of the settings', () => {
  it('has each setting of the configuration once, with its value, default and origin', async () => {
    const { head, attributes, of } = await served("EMULATOR_LISTEN_IP = '192.0.2.1'\nEMULATOR_SSDP = True\n", {
      flags: { listenPort: '8443' },
      environment: { EMULATOR_TASK_AFTER_SECONDS: '2.5' },
    });
    expect(head).toEqual({
      Id: id,
      Name: 'Service Attribute Registry',
      Description: 'The effective settings of the configuration of this service',
      Language: 'en',
      OwningEntity: 'Rackless',
      RegistryVersion: '1.0.0',
    });
    expect(attributes.map(({ AttributeName }) => AttributeName).sort()).toEqual(
      settingKeys.map((key) => settingsTable[key].name).sort(),
    );
    expect(of('EMULATOR_LISTEN_IP')).toEqual({
      AttributeName: 'EMULATOR_LISTEN_IP',
      HelpText: 'Address on which the daemon listens. Value: a string.',
      Type: 'String',
      CurrentValue: '192.0.2.1',
      DefaultValue: '0.0.0.0',
      ReadOnly: true,
      ResetRequired: true,
      MenuPath: './Contract settings',
      DisplayOrder: 0,
      Oem: {
        Rackless: {
          '@odata.type': '#RacklessAttributeRegistry.v1_0_0.Attribute',
          Origin: `${join(folder, 'bmc.conf')}:1`,
        },
      },
    });
    expect(of('EMULATOR_LISTEN_PORT')).toMatchObject({
      ...{ Type: 'Integer', CurrentValue: 8443, DefaultValue: 8000 },
      Oem: { Rackless: { '@odata.type': '#RacklessAttributeRegistry.v1_0_0.Attribute', Origin: '--port' } },
    });
    expect(of('EMULATOR_TASK_AFTER_SECONDS')).toMatchObject({
      ...{ Type: 'String', CurrentValue: '2.5', DefaultValue: '8', ResetRequired: false },
      Oem: {
        Rackless: {
          '@odata.type': '#RacklessAttributeRegistry.v1_0_0.Attribute',
          Origin: 'environment EMULATOR_TASK_AFTER_SECONDS',
        },
      },
    });
    expect(of('EMULATOR_SSDP')).toMatchObject({ Type: 'Boolean', CurrentValue: true, DefaultValue: false });
    expect(of('EMULATOR_AUTH_FILE')).toMatchObject({ CurrentValue: null, DefaultValue: null });
    expect(of('EMULATOR_AUTH_FILE')).not.toHaveProperty('Oem');
  });

  it('contains no password and no token of a URL', async () => {
    const { attributes } = await served(
      [
        "EMULATOR_LIBVIRT_URI = {'a': 'qemu+tcp://u:hush-1@h/system', 'b': 'qemu+ssh://root@h/system?keyfile=/key'}",
        "EMULATOR_SHARED_STORE = 'redis://u:hush-2@redis.example:6379/0'",
        "EMULATOR_EXTERNAL_NOTIFICATION_URL = 'https://hush-3@h.example/x?token=hush-4#hush-5'",
        '',
      ].join('\n'),
    );
    const text = JSON.stringify(attributes);
    expect(text).not.toMatch(/hush/);
    expect(text).toContain('qemu+ssh://root@h/system?keyfile=/key');
    expect(text).toContain('redis://u:******@redis.example:6379/0');
    expect(text).toContain('https://h.example/x?******');
  });

  it('shows mappings as Python literals, also with 10,000 long members', async () => {
    const hosts = Array.from({ length: 10_000 }, (_, index) => [`h${index}`, `qemu+ssh://${'x'.repeat(900)}${index}/`]);
    const literal = `{${hosts.map(([name, address]) => `'${name}': '${address}'`).join(', ')}}`;
    const { of } = await served(`EMULATOR_LIBVIRT_URI = ${literal}\n`);
    expect(of('EMULATOR_LIBVIRT_URI')).toMatchObject({ Type: 'String', CurrentValue: literal });
    expect(of('EMULATOR_BOOT_LOADER_MAP')).toMatchObject({
      CurrentValue: "{'UEFI': {'x86_64': None, 'aarch64': None}, 'Legacy': {'x86_64': None, 'aarch64': None}}",
    });
  });
});
