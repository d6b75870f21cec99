/**
 * Tests changes of a machine between two steps of one operation: another program changes its
 * definition, or its QEMU is slow. A test replaces a method of the machine's `domain`, so that the other
 * change happens exactly at this call. Other tests read a machine for which libvirt does not answer.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientError } from '../../../libvirt/src/errors.js';
import { BootControl } from '../../src/drivers/libvirt/boot/boot-control.js';
import { autostartStep } from '../../src/drivers/libvirt/change/change-steps.js';
import { ColdStart } from '../../src/drivers/libvirt/power/cold-start.js';
import { readDefinition } from '../../src/drivers/libvirt/machine/definition.js';
import type { Host } from '../../src/drivers/libvirt/machine/host.js';
import { ImageStore } from '../../src/drivers/libvirt/media/image-store.js';
import { ImageStreams } from '../../src/drivers/libvirt/media/image-stream.js';
import type { Machine } from '../../src/drivers/libvirt/machine/inventory.js';
import { LibvirtMedia } from '../../src/drivers/libvirt/media/libvirt-media.js';
import { PowerControl } from '../../src/drivers/libvirt/power/power-control.js';
import { SystemReader } from '../../src/drivers/libvirt/read/system-reader.js';
import { readMetadata } from '../../src/drivers/libvirt/xml/metadata/metadata.js';
import { imageLimits } from '../support/image-limits.js';
import { TestHost, until, type Guest } from './host.js';

let host: TestHost;
beforeAll(async () => {
  host = await TestHost.start();
});
afterAll(() => host.stop());

/** Replaces a method of the machine: its first call runs `change` before the real method. */
function runBefore(machine: Machine, call: 'qemuMonitorCommand', change: () => Promise<unknown>): void {
  const { domain } = machine;
  const real = domain[call].bind(domain);
  let changed: Promise<unknown> | undefined;
  domain[call] = async (...words) => {
    await (changed ??= change());
    return await real(...words);
  };
}

const find = (parts: Host, { uuid }: Guest): Promise<Machine> => parts.inventory.find(uuid);

describe('a definition that another program changes', () => {
  it('keeps that change while a used one-time boot order is reverted', async () => {
    const guest = await host.guest({ cdrom: await host.drive('cd') });
    const driver = await host.driver();
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    await driver.close();
    guest.serial.send('r');
    expect((await guest.serial.reaches(3)).at(-1)).toBe('boot cd');
    const parts = host.parts();
    const machine = await find(parts, guest);
    // Between the read and the change of the definition, the driver sets QEMU's boot order.
    runBefore(machine, 'qemuMonitorCommand', () =>
      host.virsh('change-media', guest.name, 'sda', '--eject', '--config'),
    );
    const boot = new BootControl({ host: parts });
    await boot.reconcile(machine, await readDefinition(machine, 30_000));
    const definition = await host.inactiveXml(guest);
    expect(readMetadata(definition).boot?.enabled).toBe('disabled');
    expect(definition).not.toContain('.iso');
    await host.virsh('destroy', guest.name);
  });
});

describe('a machine that a client switches off while it starts', () => {
  /**
   * Starts a machine, and switches it off just before libvirt starts it. Returns the error of the
   * start.
   */
  async function switchedOffAtStart(parts: Host, machine: Machine): Promise<unknown> {
    const [boot, coldStart] = [new BootControl({ host: parts }), new ColdStart(parts)];
    const power = new PowerControl({ host: parts, boot, coldStart, gracefulRestartWaitMs: 600_000 });
    const { domain } = machine;
    const [start, getState] = [domain.createWithFlags.bind(domain), domain.getState.bind(domain)];
    let switchedOff: Promise<void> = Promise.resolve();
    domain.createWithFlags = async (...words) => {
      const seen = new Promise<void>((resolve) => {
        domain.getState = async (...options) => {
          const state = await getState(...options);
          resolve();
          return state;
        };
      });
      switchedOff = power.power(machine, 'destroy', {});
      await seen;
      return await start(...words);
    };
    const error: unknown = await power.power(machine, 'create', {}).catch((reason: unknown) => reason);
    await switchedOff;
    await power.close();
    await boot.close();
    await parts.queue.close();
    return error;
  }

  it('is off in the end, even if it had not started yet', async () => {
    const guest = await host.guest();
    const parts = host.parts();
    const machine = await find(parts, guest);
    expect(await switchedOffAtStart(parts, machine)).toMatchObject({
      kind: 'conflict',
      message: `starting machine ${guest.name}: it was switched off meanwhile`,
    });
    expect((await host.virsh('domstate', guest.name)).trim()).toBe('shut off');
  });

  it('is reported and logged as still running, if libvirt fails to switch it off', async () => {
    const guest = await host.guest();
    const warnings: string[] = [];
    const parts = host.parts();
    const log = { ...parts.log, warn: (message: string) => void warnings.push(message) };
    const machine = await find(parts, guest);
    machine.domain.destroy = () => Promise.reject(clientError('CALL_TIMEOUT', 'calling domainDestroyFlags: no answer'));
    expect(await switchedOffAtStart({ ...parts, log }, machine)).toMatchObject({
      kind: 'unavailable',
      message: `switching machine ${guest.name} off: calling domainDestroyFlags: no answer`,
    });
    expect(warnings).toEqual([`machine ${guest.name} still runs, though a client switched it off while it started`]);
    expect((await host.virsh('domstate', guest.name)).trim()).toBe('running');
    await host.virsh('destroy', guest.name);
  });
});

describe('the autostart of a machine', () => {
  it('has its former value again after its change is undone', async () => {
    for (const former of [false, true]) {
      const guest = await host.guest();
      await host.virsh('autostart', guest.name, ...(former ? [] : ['--disable']));
      const parts = host.parts();
      const machine = await find(parts, guest);
      for (const on of [false, true]) {
        const undo = await autostartStep(parts, machine, on).run();
        expect(await machine.domain.getAutostart()).toBe(on);
        await undo();
        expect(await machine.domain.getAutostart()).toBe(former);
      }
    }
  });
});

describe('reading a machine', () => {
  it('begins again for a client that asks while an earlier read waits for the sizes of the disks', async () => {
    const guest = await host.guest();
    const parts = host.parts();
    const machine = await find(parts, guest);
    const reader = new SystemReader({ ...parts, diskSizeWaitMs: 60_000 });
    const real = machine.domain.getBlockInfo.bind(machine.domain);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const asked = new Promise<void>((resolve) => {
      machine.domain.getBlockInfo = async (...words) => {
        resolve();
        await released;
        return await real(...words);
      };
    });
    const first = reader.read(machine);
    await asked;
    await host.virsh('desc', guest.name, '--config', 'mine');
    const second = reader.read(machine);
    release();
    expect([(await first).description, (await second).description]).toEqual([null, 'mine']);
  });
});

describe('a machine for which libvirt does not answer', () => {
  /**
   * Makes libvirt return no XML until `end` is called, as libvirt 11.3 and later do while a QEMU
   * hangs.
   */
  function holdXml({ domain }: Machine): { readonly callCount: () => number; readonly end: () => void } {
    const real = domain.getXmlDesc.bind(domain);
    let [callCount, isSilent] = [0, true];
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      end = () => {
        isSilent = false;
        resolve();
      };
    });
    domain.getXmlDesc = async (...words) => {
      if (!isSilent) return await real(...words);
      callCount += 1;
      // A read makes two calls. The first read times out, the next ones wait.
      if (callCount <= 2) throw clientError('CALL_TIMEOUT', 'calling domainGetXmlDesc: no answer');
      await over;
      return await real(...words);
    };
    return { callCount: () => callCount, end };
  }

  async function running(): Promise<{ readonly guest: Guest; readonly parts: Host; readonly machine: Machine }> {
    const guest = await host.guest();
    await host.virsh('start', guest.name);
    const parts = host.parts();
    parts.inventory.start();
    return { guest, parts, machine: await find(parts, guest) };
  }

  it('shows its last reading, marked as such, while one read is pending', async () => {
    const { guest, parts, machine } = await running();
    const reader = new SystemReader({ ...parts, diskSizeWaitMs: 60_000 });
    const firstReading = await reader.read(machine);
    const { callCount, end } = holdXml(machine);
    const last = await reader.read(machine);
    expect(last).toEqual({ ...firstReading, unansweredSince: expect.any(Date) });
    // If one of the next reads waited for the pending read, the test would hang.
    for (let count = 0; count < 3; count += 1) expect(await reader.read(machine)).toBe(last);
    expect(callCount()).toBe(4);
    await host.virsh('desc', guest.name, '--config', 'mine');
    end();
    await until('the new reading', async () => (await reader.read(machine)).description === 'mine');
    expect((await reader.read(machine)).unansweredSince).toBeUndefined();
  });

  it('is unavailable at once from the second attempt on, if no read has ever succeeded', async () => {
    const { parts, machine } = await running();
    const reader = new SystemReader({ ...parts, diskSizeWaitMs: 60_000 });
    const { callCount, end } = holdXml(machine);
    for (let count = 0; count < 3; count += 1) {
      await expect(reader.read(machine)).rejects.toMatchObject({ kind: 'unavailable' });
    }
    expect(callCount()).toBe(4);
    end();
    await until('a reading', async () => (await reader.read(machine)).state === 'running');
  });

  it('shows its last reading at once after a change that libvirt did not answer, without a second read', async () => {
    const { parts, machine } = await running();
    const reader = new SystemReader({ ...parts, diskSizeWaitMs: 60_000 });
    await reader.read(machine);
    const { callCount, end } = holdXml(machine);
    const last = await reader.read(machine);
    expect(await reader.read(machine)).toBe(last);
    reader.forgetUnlessSilent(machine.uuid);
    expect(await reader.read(machine)).toBe(last);
    expect(callCount()).toBe(4);
    end();
    await until('a new reading', async () => (await reader.read(machine)).unansweredSince === undefined);
  });

  it('is read again after a change, and an older read that ends later does not replace the newer reading', async () => {
    const { guest, parts, machine } = await running();
    const reader = new SystemReader({ ...parts, diskSizeWaitMs: 60_000 });
    const first = await reader.read(machine);
    const { domain } = machine;
    const real = domain.getXmlDesc.bind(domain);
    let fail = (): void => undefined;
    const failed = new Promise<never>((_resolve, reject) => {
      fail = () => reject(clientError('CALL_TIMEOUT', 'calling domainGetXmlDesc: no answer'));
    });
    const begun = new Promise<void>((resolve) => {
      domain.getXmlDesc = () => {
        resolve();
        return failed;
      };
    });
    const old = reader.read(machine);
    await begun;
    domain.getXmlDesc = real;
    await host.virsh('desc', guest.name, '--config', 'mine');
    reader.forget(machine.uuid);
    expect(await reader.read(machine)).toMatchObject({ description: 'mine' });
    fail();
    const late = await old;
    expect(late).toMatchObject({ uuid: first.uuid, unansweredSince: expect.any(Date) });
    // Until `end` is called, libvirt returns no XML.
    const { end } = holdXml(machine);
    const silent = await reader.read(machine);
    expect(silent).toMatchObject({ description: 'mine', unansweredSince: expect.any(Date) });
    expect(silent).not.toBe(late);
    end();
  });

  it('is reported as off after another program switched it off, though a read still waits', async () => {
    const { guest, parts, machine } = await running();
    const reader = new SystemReader({ ...parts, diskSizeWaitMs: 60_000 });
    await reader.read(machine);
    const { end } = holdXml(machine);
    await reader.read(machine);
    expect(await reader.read(machine)).toMatchObject({ state: 'running' });
    await host.virsh('destroy', guest.name);
    await until('the machine to be off', async () => (await parts.inventory.state(machine)) === 'shutoff');
    const after = Promise.all([reader.read(machine), reader.read(machine)]);
    end();
    expect((await after).map(({ state }) => state)).toEqual(['shutoff', 'shutoff']);
  });

  it('is read again after it was switched off', async () => {
    const { guest, parts, machine } = await running();
    const reader = new SystemReader({ ...parts, diskSizeWaitMs: 60_000 });
    await reader.read(machine);
    const { end } = holdXml(machine);
    await reader.read(machine);
    end();
    await host.virsh('destroy', guest.name);
    await until('the machine to be off', async () => (await parts.inventory.state(machine)) === 'shutoff');
    expect(await reader.read(machine)).toMatchObject({ state: 'shutoff' });
  });
});

describe('a drive that was hot-plugged into a running machine', () => {
  /** Starts a guest with an image in a hot-plugged drive, and returns a function that ejects it. */
  async function plugged(): Promise<{ guest: Guest; machine: Machine; eject: () => Promise<void> }> {
    const guest = await host.guest({ cdrom: '', devices: `<controller type='usb' model='qemu-xhci'/>` });
    await host.virsh('start', guest.name);
    const path = host.file('hotplugged.iso');
    await host.virsh('attach-disk', guest.name, path, 'sda', '--type', 'cdrom', '--targetbus', 'usb', '--live');
    const parts = host.parts();
    const machine = await find(parts, guest);
    const store = new ImageStore({
      openImageVolumes: () => Promise.resolve(null),
      sourcesInUse: () => Promise.resolve(new Set()),
      limits: imageLimits,
      warn: () => undefined,
    });
    const boot = new BootControl({ host: parts });
    const media = new LibvirtMedia({
      host: parts,
      boot,
      reader: { lastReading: () => undefined },
      store,
      streams: new ImageStreams(imageLimits),
    });
    return { guest, machine, eject: () => media.eject(machine, 'cdrom', {}) };
  }
  const drives = async (machine: Machine): Promise<readonly string[]> =>
    ((await readDefinition(machine, 30_000)).instance?.domain.devices.disks ?? []).map(({ target }) => target);

  it('is gone when its eject has ended, even if QEMU releases it late', async () => {
    await host.drive('hotplugged');
    const { guest, machine, eject } = await plugged();
    expect(await drives(machine)).toEqual(['vda', 'sda']);
    const detach = machine.domain.detachDeviceFlags.bind(machine.domain);
    const getXmlDesc = machine.domain.getXmlDesc.bind(machine.domain);
    let reads = 0;
    // libvirt does the same if QEMU does not release the device within 5 s: it answers, and the device
    // disappears some reads later.
    machine.domain.detachDeviceFlags = (...words) => {
      machine.domain.getXmlDesc = async (...flags) => {
        reads += 1;
        if (reads === 6) await detach(...words);
        return await getXmlDesc(...flags);
      };
      return Promise.resolve();
    };
    await eject();
    expect(await drives(machine)).toEqual(['vda']);
    expect(reads).toBeGreaterThanOrEqual(6);
    await host.virsh('destroy', guest.name);
  });
});
