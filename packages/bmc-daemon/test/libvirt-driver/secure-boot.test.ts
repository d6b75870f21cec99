/**
 * Tests Secure Boot with real definitions: the `<os>` that libvirt stores, which machines support Secure Boot,
 * and what happens to UEFI variables. Also tests pending settings that the machine cannot have.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DriverError } from '../../src/drivers/driver-error.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import type { SettingsChange } from '../../src/drivers/snapshot/firmware-snapshot.js';
import { variableNames } from '../../src/drivers/libvirt/firmware/variable-store.js';
import { withVariable } from '../harness/variable-store.js';
import { reaches, TestHost, type Guest, type GuestOptions } from './host.js';

let host: TestHost;
beforeAll(async () => {
  host = await TestHost.start();
});
afterAll(() => host.stop());

const uefi: GuestOptions = { memoryMiB: 128 };
const noSecureBoot = `<firmware><feature enabled='no' name='secure-boot'/></firmware><loader stateless='no'/>`;
const code = (suffix: string): string => `/usr/share/OVMF/OVMF_CODE_4M${suffix}.fd`;
const vars = (suffix: string): string => `/usr/share/OVMF/OVMF_VARS_4M${suffix}.fd`;
const templates = { enabled: vars('.ms'), disabled: vars('') };

/**
 * Defines a guest again so that it boots by UEFI, without Secure Boot.
 * @param change a further edit of the XML.
 */
async function withUefi(guest: Guest, change: (xml: string) => string = (xml) => xml): Promise<void> {
  const xml = guest.xml.replace('<os>', `<os firmware='efi'>`).replace('</os>', `${noSecureBoot}</os>`);
  await writeFile(host.file(`${guest.name}.xml`), change(xml));
  await host.virsh('define', host.file(`${guest.name}.xml`));
}

/** Returns a UEFI guest that is off and has run once, so that it has a file with variables: `file`. */
async function withVariables() {
  const driver = await host.driver();
  const guest = await host.guest(uefi);
  await withUefi(guest);
  await driver.power(guest.uuid, 'create');
  await driver.power(guest.uuid, 'destroy');
  await reaches(driver, guest, 'shutoff');
  return { driver, guest, file: join(host.libvirtd.dir, 'lib/qemu/nvram', `${guest.name}_VARS.fd`) };
}

/** Returns kind, field and message of the DriverError of a change. @throws {Error} for any other outcome. */
async function refusal(change: Promise<void>): Promise<readonly unknown[]> {
  const error: unknown = await change.catch((reason: unknown) => reason);
  if (!(error instanceof DriverError)) throw new Error(`expected a DriverError, got ${String(error)}`);
  return [error.kind, error.field, error.message];
}

const state = async (driver: CompleteDriver, { uuid }: Guest) => (await driver.getSystem(uuid)).firmware.secureBoot;

/** Returns `<os>` and `<smm>` of the definition, without space between the elements. */
async function definedOs(guest: Guest): Promise<string> {
  const xml = await host.inactiveXml(guest);
  const [os = ''] = /<os[\s\S]*<\/os>/.exec(xml) ?? [];
  const [smm = ''] = /<smm[^>]*>/.exec(xml) ?? [];
  return `${os.replaceAll(/>\s+</g, '><')}${smm}`;
}

/** Returns the machine type of the definition. libvirt stores the newest type of its QEMU instead of `pc`. */
async function machineTypeOf(guest: Guest): Promise<string> {
  return /<type [^>]*machine='([^']*)'/.exec(await host.inactiveXml(guest))?.[1] ?? '';
}

/** Enables and then disables Secure Boot. Returns what the driver showed in the run after each change. */
const switchOnAndOff = async (driver: CompleteDriver, guest: Guest): Promise<readonly unknown[]> => {
  const seen: unknown[] = [];
  for (const enabled of [true, false]) {
    await driver.change(guest.uuid, { secureBoot: enabled ? 'on' : 'off' });
    await driver.power(guest.uuid, 'create');
    seen.push(await state(driver, guest));
    await driver.power(guest.uuid, 'destroy');
    await reaches(driver, guest, 'shutoff');
  }
  return seen;
};

const on = { enabled: true, current: true, enrolled: true };
const off = { enabled: false, current: false, enrolled: false };

describe('Secure Boot', () => {
  it('can be enabled and disabled if libvirt selects the firmware, even if the definition has SMM off', async () => {
    const driver = await host.driver();
    const guest = await host.guest(uefi);
    await withUefi(guest, (xml) => xml.replace('<acpi/>', `<acpi/><smm state='off'/>`));
    expect(await switchOnAndOff(driver, guest)).toEqual([on, off]);
    expect(await definedOs(guest)).toContain(`<feature enabled='no' name='secure-boot'/>`);
    await driver.close();
  });

  it("is read from the host's firmware descriptors if the definition leaves the choice to libvirt", async () => {
    const driver = await host.driver();
    const guest = await host.guest({ memoryMiB: 128 });
    await withUefi(guest, (xml) => xml.replace(noSecureBoot, ''));
    // libvirt takes Debian's first matching descriptor, whose variables have keys.
    expect(await state(driver, guest)).toEqual({ ...on, current: null });
    await driver.close();
  });

  it("can be enabled and disabled with the firmware files of sushy-tools' settings, and turns SMM on", async () => {
    const driver = await host.driver({
      bootLoaderMap: { efi: { x86_64: code('.secboot') } },
      secureBootTemplates: templates,
    });
    const guest = await host.guest({ memoryMiB: 128 });
    await driver.change(guest.uuid, { boot: { firmware: 'efi' } });
    expect(await state(driver, guest)).toEqual({ ...off, current: null });
    expect(await switchOnAndOff(driver, guest)).toEqual([on, off]);
    // Later versions of libvirt add the attributes with the formats.
    expect(await definedOs(guest)).toMatch(
      /<loader readonly='yes' secure='yes' type='pflash'[^>]*>\/usr\/share\/OVMF\/OVMF_CODE_4M\.secboot\.fd<\/loader><nvram template='\/usr\/share\/OVMF\/OVMF_VARS_4M\.fd'[^>]*>.*<smm state='on'\/>$/,
    );
    await driver.close();
  });

  it('is rejected with a reason for a machine that does not support it', async () => {
    const driver = await host.driver();
    const pc = await host.guest({ ...uefi, machine: 'pc', cdrom: '' });
    await withUefi(pc);
    expect(await refusal(driver.change(pc.uuid, { secureBoot: 'on' }))).toEqual([
      'unsupported',
      'secureBoot',
      `enabling Secure Boot of machine ${pc.name}: it is a ${await machineTypeOf(pc)}, and Secure Boot needs a q35`,
    ]);
    const bios = await host.guest();
    expect(await refusal(driver.change(bios.uuid, { settings: { secureBoot: true } }))).toEqual([
      'unsupported',
      'secureBoot',
      `enabling Secure Boot of machine ${bios.name}: it boots by legacy BIOS, not by UEFI`,
    ]);
    const transient = await host.guest(uefi);
    await withUefi(transient);
    await driver.power(transient.uuid, 'create');
    await host.virsh('undefine', '--nvram', transient.name);
    expect((await refusal(driver.change(transient.uuid, { secureBoot: 'on' }))).at(0)).toBe('transient');
    await host.virsh('destroy', transient.name);
    await driver.close();
  });

  it('changes only the keys when it is enabled or disabled, and keeps the boot entries', async () => {
    const { driver, guest, file } = await withVariables();
    await writeFile(file, withVariable(await readFile(vars('')), 'Boot0042', 'debian'));
    const names = async () => variableNames(await readFile(file));
    await driver.change(guest.uuid, { secureBoot: 'on' });
    // The driver changes the file immediately, so the next start uses the keys.
    expect(await names()).toEqual(expect.arrayContaining(['PK', 'KEK', 'db', 'Boot0042']));
    await driver.change(guest.uuid, { secureBoot: 'off' });
    expect(await names()).toContain('Boot0042');
    expect(await names()).not.toContain('PK');
    // The driver does not change the variables of a running firmware before the next start or reset.
    await driver.power(guest.uuid, 'create');
    await driver.change(guest.uuid, { secureBoot: 'on' });
    expect(await names()).not.toContain('PK');
    await driver.power(guest.uuid, 'reset');
    expect(await names()).toEqual(expect.arrayContaining(['PK', 'KEK', 'db']));
    expect(await host.virsh('pool-list', '--all', '--name')).not.toContain('rackless-variables');
    await driver.power(guest.uuid, 'destroy');
    await driver.close();
  });

  it('is enabled with new variables if their file is invalid, and the driver logs the loss', async () => {
    const { driver, guest, file } = await withVariables();
    await writeFile(file, 'QFI');
    await driver.change(guest.uuid, { secureBoot: 'on' });
    const loss = `the UEFI variables of machine ${guest.name} are reset, and its boot entries are lost`;
    expect(host.messages.join()).toContain(
      `recreating the UEFI variables of machine ${guest.name} failed: the next start retries`,
    );
    expect(host.messages.join()).not.toContain(loss);
    await driver.power(guest.uuid, 'create');
    expect(host.messages.join()).toContain(loss);
    expect(variableNames(await readFile(file))).toEqual(expect.arrayContaining(['PK', 'KEK', 'db']));
    await driver.power(guest.uuid, 'destroy');
    await driver.close();
  });
});

describe('pending settings', () => {
  const numa = `<cpu><numa><cell id='0' cpus='0-1' memory='16384' unit='KiB'/></numa></cpu>`;
  const vcpus =
    `<vcpu current='1'>2</vcpu><vcpus><vcpu id='0' enabled='yes' hotpluggable='no'/>` +
    `<vcpu id='1' enabled='no' hotpluggable='yes'/></vcpus>`;

  /** Defines a guest again after a change of its XML. */
  async function redefine(guest: Guest, change: (xml: string) => string): Promise<void> {
    await writeFile(host.file(`${guest.name}.xml`), change(await host.inactiveXml(guest)));
    await host.virsh('define', host.file(`${guest.name}.xml`));
  }

  it('are rejected if the definition does not permit them, except for the values that it has', async () => {
    const driver = await host.driver();
    const guest = await host.guest();
    await redefine(guest, (xml) => xml.replace(/<vcpu .*<\/vcpu>/, vcpus).replace('<features>', `${numa}<features>`));
    const set = (settings: SettingsChange) => driver.change(guest.uuid, { settings });
    expect(await refusal(set({ memoryMiB: 15, kept: { L2Cache: '16 MB' } }))).toEqual([
      'unsupported',
      'memoryMiB',
      `setting the memory of machine ${guest.name}: its definition has NUMA cells`,
    ]);
    expect(await refusal(set({ cpuCount: 2 }))).toEqual([
      'unsupported',
      'cpuCount',
      `setting the number of vCPUs of machine ${guest.name}: its definition names each vCPU`,
    ]);
    expect((await driver.getSystem(guest.uuid)).firmware.pending).toEqual({});
    const same = { memoryMiB: 16, cpuCount: 1, kept: { L2Cache: '16 MB' } };
    await set(same);
    await driver.power(guest.uuid, 'create');
    expect((await driver.getSystem(guest.uuid)).firmware).toMatchObject({ pending: {}, failure: null, settings: same });
    await driver.power(guest.uuid, 'destroy');
    await driver.close();
  });

  it('are applied at the start, except those that a later definition does not permit; the snapshot has the reason', async () => {
    const driver = await host.driver();
    const guest = await host.guest({ devices: `<interface type='user'><model type='virtio'/></interface>` });
    await driver.change(guest.uuid, { settings: { memoryMiB: 15, networkBoot: true, kept: { L2Cache: '16 MB' } } });
    await redefine(guest, (xml) => xml.replace('<features>', `${numa.replace('0-1', '0')}<features>`));
    await driver.power(guest.uuid, 'create');
    const { firmware, state: power } = await driver.getSystem(guest.uuid);
    expect([power, firmware.pending, firmware.settings, firmware.failure?.reason]).toEqual([
      'running',
      {},
      expect.objectContaining({ memoryMiB: 16, networkBoot: true, kept: { L2Cache: '16 MB' } }),
      `setting the memory of ${guest.name}: its definition has NUMA cells`,
    ]);
    await driver.power(guest.uuid, 'destroy');
    await driver.close();
  });
});
