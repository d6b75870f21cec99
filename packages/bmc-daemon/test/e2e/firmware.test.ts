/** Changes firmware settings, and tests their effects on the firmware and the guest. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { guestImage } from '../harness/guest-image.js';
import { property } from './bmc.js';
import { becomes, Lab, type Guest } from './lab.js';
import { describeEndToEnd } from './prerequisites.js';

const disk = (platform: string): string => `RACKLESS-DISK label=DISK platform=${platform}`;
const iso = 'RACKLESS-ISO label=CD platform=efi';

describeEndToEnd('the firmware of a guest', () => {
  let lab: Lab;
  let guest: Guest;
  let image: string;

  beforeAll(async () => {
    lab = await Lab.start();
    image = await lab.images.publish('boot.iso', await guestImage({ kind: 'iso', system: 'grub', label: 'CD' }));
    guest = await lab.guest({ firmware: 'efi', network: true });
  });
  afterAll(() => lab.stop());

  const patch = async (path: string, body: unknown): Promise<void> => {
    expect([path, (await lab.bmc.finish(await lab.bmc.send('PATCH', path, body))).status]).toEqual([path, 200]);
  };
  const setBoot = (boot: object): Promise<void> => patch(guest.path, { Boot: boot });
  const secureBoot = async (): Promise<readonly unknown[]> => {
    const body = await lab.bmc.get(`${guest.path}/SecureBoot`);
    return ['SecureBootEnable', 'SecureBootCurrentBoot', 'SecureBootMode'].map((name) => property(body, name));
  };

  it('is legacy BIOS or UEFI after a restart, as a client has set BootSourceOverrideMode', async () => {
    await guest.reset('On');
    expect(await guest.nextEvent()).toBe(disk('efi'));
    for (const [mode, platform] of [
      ['Legacy', 'pc'],
      ['UEFI', 'efi'],
    ] as const) {
      await setBoot({ BootSourceOverrideMode: mode });
      await guest.reset('ForceRestart');
      expect(await guest.nextEvent()).toBe(disk(platform));
    }
  });

  it('refuses an unsigned boot loader with Secure Boot on, and boots it with Secure Boot off', async () => {
    expect(await secureBoot()).toEqual([false, 'Disabled', 'SetupMode']);
    await patch(`${guest.path}/SecureBoot`, { SecureBootEnable: true });
    expect(await secureBoot()).toEqual([true, 'Disabled', 'UserMode']);
    await guest.reset('ForceRestart');
    // The firmware prints the error of a failed boot attempt.
    await guest.waitFor('Access Denied');
    expect(await secureBoot()).toEqual([true, 'Enabled', 'UserMode']);
    await patch(`${guest.path}/SecureBoot`, { SecureBootEnable: false });
    await guest.reset('ForceRestart');
    expect(await guest.nextEvent()).toBe(disk('efi'));
    expect(await secureBoot()).toEqual([false, 'Disabled', 'SetupMode']);
  });

  it('tries to boot from the network, and boots an image at a URI and a device by its name', async () => {
    await setBoot({ BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' });
    await guest.reset('ForceRestart');
    await guest.waitFor('Start PXE over IPv4');
    await guest.reset('ForceOff');
    await setBoot({ BootSourceOverrideTarget: 'UefiHttp', BootSourceOverrideEnabled: 'Once', HttpBootUri: image });
    await guest.reset('On');
    expect(await guest.boots()).toBe(iso);
    await guest.type('reboot');
    expect(await guest.nextEvent()).toBe(disk('efi'));
    await becomes(async () => (await guest.boot()).enabled, 'Disabled');
    // A change of the target also ejects the image of the HTTP boot.
    await setBoot({ BootSourceOverrideTarget: 'UefiBootNext', BootNext: 'Cd.sda' });
    expect(await guest.drive()).toEqual({ inserted: false, image: null });
    await guest.insert(image);
    await guest.type('reboot');
    expect(await guest.nextEvent()).toBe(iso);
    await guest.reset('ForceOff');
  });
});

describeEndToEnd('a BIOS attribute', () => {
  let lab: Lab;

  beforeAll(async () => {
    lab = await Lab.start();
  });
  afterAll(() => lab.stop());

  it('is visible to the guest after its next start', async () => {
    const guest = await lab.guest({ system: 'linux' });
    await lab.virsh('setvcpus', guest.name, '2', '--maximum', '--config');
    const settings = `${guest.path}/Bios/Settings`;
    const { status } = await lab.bmc.send('PATCH', settings, { Attributes: { NumCores: 2, MemorySizeMiB: 192 } });
    expect(status).toBe(200);
    await guest.reset('On');
    await guest.type('echo machine=$(nproc)-$(($(sed -n "s/MemTotal: *//;s/ kB//;1p" /proc/meminfo) / 65536))');
    // The first 2 is the number of processors. The second 2 stands for 128 to 192 MiB: MemTotal excludes the memory
    // that the kernel reserves.
    await guest.waitFor('machine=2-2');
    await guest.reset('ForceOff');
  });
});
