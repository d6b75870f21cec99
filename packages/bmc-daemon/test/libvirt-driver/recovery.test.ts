import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { BootControl } from '../../src/drivers/libvirt/boot/boot-control.js';
import { readDefinition } from '../../src/drivers/libvirt/machine/definition.js';
import { PROCESS_PREFIX, PROCESS_URI, readProcess } from '../../src/drivers/libvirt/machine/process-record.js';
import { readDomain } from '../../src/drivers/libvirt/xml/domain.js';
import { readMetadata } from '../../src/drivers/libvirt/xml/metadata/metadata.js';
import { reaches, TestHost, until, type Guest } from './host.js';
import { withBootOrder, withMetadata, withStartingMark } from '../support/xml-edits.js';

let host: TestHost;

beforeAll(async () => {
  host = await TestHost.start();
});
afterAll(() => host.stop());

const override = async (driver: CompleteDriver, { uuid }: Guest) => {
  const { enabled, target } = (await driver.getSystem(uuid)).boot;
  return { enabled, target };
};
const used = { enabled: 'disabled', target: 'none' };
const pending = { enabled: 'once', target: 'cdrom' };

/** Returns a running guest with a pending one-time boot from CD. The driver that set the boot is closed. */
async function armedAndLeft(): Promise<Guest> {
  const guest = await host.guest({ cdrom: await host.drive('cd') });
  const first = await host.driver();
  await first.power(guest.uuid, 'create');
  await guest.serial.reaches(2);
  await first.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
  await first.close();
  return guest;
}

describe('a restarted daemon', () => {
  it('removes an override that the guest used while no daemon ran', async () => {
    const guest = await armedAndLeft();
    guest.serial.send('r');
    expect((await guest.serial.reaches(3)).at(-1)).toBe('boot cd');
    const next = await host.driver();
    await until('the override to be disabled', async () => (await override(next, guest)).enabled === 'disabled');
    guest.serial.send('r');
    expect((await guest.serial.reaches(4)).at(-1)).toBe('boot disk');
    await next.power(guest.uuid, 'destroy');
    await next.close();
  });

  it('ends a one-time boot that an earlier daemon set, when the guest has used it', async () => {
    const guest = await armedAndLeft();
    const next = await host.driver();
    expect(await override(next, guest)).toEqual(pending);
    guest.serial.send('r');
    expect((await guest.serial.reaches(3)).at(-1)).toBe('boot cd');
    await until('the override to be used up', async () => (await override(next, guest)).enabled === 'disabled');
    guest.serial.send('r');
    expect((await guest.serial.reaches(4)).at(-1)).toBe('boot disk');
    await next.power(guest.uuid, 'destroy');
    await next.close();
  });

  it('reads the boot order that version 0.1 recorded in a running machine', async () => {
    const guest = await armedAndLeft();
    const xml = await host.virsh('dumpxml', guest.name);
    const id = readDomain(xml).id ?? 0;
    const armed = readProcess({ id, xml })?.armed ?? null;
    const { drive = '', reads = 0 } = armed?.evidence ?? {};
    const attributes = `instance='${id}' armed='${armed?.target ?? ''}' drive='${drive}' reads='${reads}'`;
    const old = `<process ${attributes}><order key='disk:vda'/></process>`;
    const place = ['--live', '--uri', PROCESS_URI, '--key', PROCESS_PREFIX];
    await host.virsh('metadata', guest.name, ...place, '--set', old);
    const next = await host.driver();
    expect(await override(next, guest)).toEqual(pending);
    guest.serial.send('r');
    expect((await guest.serial.reaches(3)).at(-1)).toBe('boot cd');
    await until('the override to be used up', async () => (await override(next, guest)).enabled === 'disabled');
    const present = { instance: id, order: ['disk:vda'], armed: null };
    expect(readProcess({ id, xml: await host.virsh('dumpxml', guest.name) })).toEqual(present);
    expect(await host.virsh('metadata', guest.name, ...place)).toContain(JSON.stringify(present.order));
    await next.power(guest.uuid, 'destroy');
    await next.close();
  });

  it('ends a one-time boot only after its use, even if a restart event arrives before the first read of the machine', async () => {
    const guest = await armedAndLeft();
    const parts = host.parts();
    const boot = new BootControl({ host: parts });
    try {
      // The driver makes the same calls. Here they come in the critical order, and before the firmware reads the
      // drive.
      boot.onReboot(guest.uuid);
      const machine = await parts.inventory.find(guest.uuid);
      await boot.reconcile(machine, await readDefinition(machine, 30_000));
      guest.serial.send('r');
      expect((await guest.serial.reaches(3)).at(-1)).toBe('boot cd');
      await until('the override to be used up', async () => {
        return readMetadata(await host.inactiveXml(guest)).boot?.enabled === 'disabled';
      });
      guest.serial.send('r');
      expect((await guest.serial.reaches(4)).at(-1)).toBe('boot disk');
      await host.virsh('destroy', guest.name);
    } finally {
      await boot.close();
    }
  });

  it('preserves, for the next power-on, the override of a machine that was switched off while no daemon ran', async () => {
    const guest = await armedAndLeft();
    await host.virsh('destroy', guest.name);
    const next = await host.driver();
    expect(await override(next, guest)).toEqual(pending);
    await next.power(guest.uuid, 'create');
    expect((await guest.serial.reaches(4)).slice(2)).toEqual(['<power on>', 'boot cd']);
    expect(await override(next, guest)).toEqual(used);
    await next.power(guest.uuid, 'destroy');
    await next.close();
  });

  it('resumes a guest that a killed daemon left paused at its start', async () => {
    const guest = await host.guest({ cdrom: await host.drive('cd') });
    const first = await host.driver();
    await first.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    await first.close();
    // Creates the state of a machine after the first step of a start.
    const definition = await host.inactiveXml(guest);
    await writeFile(host.file('start.xml'), withStartingMark(withBootOrder(definition, 'cdrom').xml));
    await host.virsh('create', '--paused', host.file('start.xml'));
    const next = await host.driver();
    await reaches(next, guest, 'running');
    expect(await guest.serial.reaches(2)).toEqual(['<power on>', 'boot cd']);
    await until('the override to be used up', async () => (await override(next, guest)).enabled === 'disabled');
    guest.serial.send('r');
    expect((await guest.serial.reaches(3)).at(-1)).toBe('boot disk');
    await next.power(guest.uuid, 'destroy');
    await next.close();
  });

  it('starts a machine that a killed daemon switched off for a restart', async () => {
    const guest = await host.guest();
    const definition = await host.inactiveXml(guest);
    const intents = [{ kind: 'restart' as const, instance: 7, force: false }];
    const record = { ...readMetadata(definition), intents };
    await writeFile(host.file('off.xml'), withMetadata(definition, record));
    await host.virsh('define', host.file('off.xml'));
    const next = await host.driver();
    expect(await guest.serial.reaches(2)).toEqual(['<power on>', 'boot disk']);
    await until('the intent to be removed', async () => readMetadata(await host.inactiveXml(guest)).intents === null);
    await next.power(guest.uuid, 'destroy');
    await next.close();
  });

  it('completes a graceful restart into a changed definition if the earlier daemon ended during the restart', async () => {
    const guest = await host.guest({ ignoresPowerButton: true, cdrom: await host.drive('cd') });
    const first = await host.driver();
    await first.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await writeFile(
      host.file('changed.xml'),
      guest.xml
        .replace(`<boot order='1'/>`, `<boot order='2'/>`)
        .replace(`bus='sata'/>`, `bus='sata'/><boot order='1'/>`),
    );
    await host.virsh('define', host.file('changed.xml'));
    await first.power(guest.uuid, 'reboot');
    await guest.serial.reaches(3);
    await first.close();
    const next = await host.driver({ gracefulRestartWaitMs: 200 });
    // The new daemon presses the button again, and restarts the guest by force. The guest may see this button before
    // the restart, so the test checks only the last events.
    await until('the restart', () => Promise.resolve(guest.serial.events.at(-1) === 'boot cd'));
    expect(guest.serial.events.slice(-2)).toEqual(['<power on>', 'boot cd']);
    await until('the intent to be removed', async () => readMetadata(await host.inactiveXml(guest)).intents === null);
    await next.power(guest.uuid, 'destroy');
    await next.close();
  });
});
