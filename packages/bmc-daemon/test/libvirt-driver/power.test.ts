import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainXmlFlags } from '@rackless/libvirt';
import { DriverError } from '../../src/drivers/driver-error.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { reaches, TestHost, until, type Guest } from './host.js';
import { imageLimits } from '../support/image-limits.js';

let host: TestHost;
let driver: CompleteDriver;

beforeAll(async () => {
  host = await TestHost.start();
  driver = await host.driver();
});
afterAll(() => host.stop());

/** Returns the kind of the DriverError with which a promise rejects. @throws {Error} for any other outcome. */
async function failure(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DriverError)) throw new Error(`expected a DriverError, got ${String(error)}`);
  return error.kind;
}

const stateOf = async ({ uuid }: Guest): Promise<string> => (await driver.getSystem(uuid)).state;

/**
 * Returns whether libvirt gives the XML of a machine within 10 s while another call waits for its QEMU.
 * libvirt 11.3 and later do not.
 */
async function givesXml({ uuid }: Guest): Promise<boolean> {
  const { domain } = await host.parts().inventory.find(uuid);
  return await domain.getXmlDesc(DomainXmlFlags.INACTIVE, { timeoutMs: 10_000 }).then(
    () => true,
    () => false,
  );
}

// The tests run concurrently: each has its own machines, and mostly waits for a guest or a time limit. The
// longest tests are first, so that no long test runs after all others have ended.
describe('a real guest', () => {
  it.concurrent('is restarted by force if it does not obey the power button in time', async () => {
    const guest = await host.guest({ ignoresPowerButton: true });
    // 20 s are long enough for the guest to notice the button.
    const impatient = await host.driver({ gracefulRestartWaitMs: 20_000 });
    await impatient.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await impatient.power(guest.uuid, 'reboot');
    expect(await guest.serial.reaches(4)).toEqual(['<power on>', 'boot disk', 'power button', 'boot disk']);
    // The reset also cancels libvirt's pending restart (not tested here). So a guest that obeys the button later
    // stays off.
    await impatient.close();
    await driver.power(guest.uuid, 'destroy');
  });

  it.concurrent('stays off if it is switched off during a graceful restart', async () => {
    const guest = await host.guest({ ignoresPowerButton: true });
    const impatient = await host.driver({ gracefulRestartWaitMs: 20_000 });
    await impatient.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await impatient.power(guest.uuid, 'reboot');
    await guest.serial.reaches(3);
    await impatient.power(guest.uuid, 'destroy');
    // Waits until a later restart of another guest is forced. By then, the first restart would have been forced too.
    const other = await host.guest({ ignoresPowerButton: true });
    await impatient.power(other.uuid, 'create');
    await other.serial.reaches(2);
    await impatient.power(other.uuid, 'reboot');
    expect((await other.serial.reaches(4)).at(-1)).toBe('boot disk');
    await impatient.power(other.uuid, 'destroy');
    expect(await stateOf(guest)).toBe('shutoff');
    expect(guest.serial.events).toEqual(['<power on>', 'boot disk', 'power button']);
    await impatient.close();
  });

  it.concurrent('switches on and off, and ignores a request for the state that it already has', async () => {
    const guest = await host.guest();
    await driver.power(guest.uuid, 'destroy');
    await driver.power(guest.uuid, 'create');
    expect(await stateOf(guest)).toBe('running');
    await driver.power(guest.name, 'create');
    expect(await guest.serial.reaches(2)).toEqual(['<power on>', 'boot disk']);
    await driver.power(guest.uuid, 'destroy');
    expect(await stateOf(guest)).toBe('shutoff');
    expect(guest.serial.events).toEqual(['<power on>', 'boot disk']);
  });

  it.concurrent('starts with ForceRestart if it is off, and restarts at once if it runs', async () => {
    const guest = await host.guest();
    await driver.power(guest.uuid, 'reset');
    expect(await guest.serial.reaches(2)).toEqual(['<power on>', 'boot disk']);
    await driver.power(guest.uuid, 'reset');
    expect(await guest.serial.reaches(3)).toEqual(['<power on>', 'boot disk', 'boot disk']);
    await driver.power(guest.uuid, 'destroy');
  });

  it.concurrent('sees the power button at a graceful shutdown, and switches off', async () => {
    const guest = await host.guest();
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.power(guest.uuid, 'shutdown');
    await reaches(driver, guest, 'shutoff');
    expect(guest.serial.events).toEqual(['<power on>', 'boot disk', 'power button']);
  });

  it.concurrent('sees the power button at a graceful restart, and restarts in the same process', async () => {
    const guest = await host.guest();
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.power(guest.uuid, 'reboot');
    expect(await guest.serial.reaches(4)).toEqual(['<power on>', 'boot disk', 'power button', 'boot disk']);
    await driver.power(guest.uuid, 'destroy');
  });

  it.concurrent('continues after a pause without a new boot, and rejects the power button while paused', async () => {
    const guest = await host.guest();
    await driver.power(guest.uuid, 'pressButton');
    await guest.serial.reaches(2);
    await driver.power(guest.uuid, 'suspend');
    expect(await stateOf(guest)).toBe('paused');
    expect(await failure(driver.power(guest.uuid, 'pressButton'))).toBe('conflict');
    await driver.power(guest.uuid, 'resume');
    expect(await stateOf(guest)).toBe('running');
    // Only a guest that runs reacts to the power button.
    await driver.power(guest.uuid, 'pressButton');
    await reaches(driver, guest, 'shutoff');
    expect(guest.serial.events).toEqual(['<power on>', 'boot disk', 'power button']);
  });

  it.concurrent('runs in a new process after a power cycle, even if it was off or paused', async () => {
    const guest = await host.guest();
    await driver.power(guest.uuid, 'cycle');
    await guest.serial.reaches(2);
    await driver.power(guest.uuid, 'suspend');
    await driver.power(guest.uuid, 'cycle');
    expect(await guest.serial.reaches(4)).toEqual(['<power on>', 'boot disk', '<power on>', 'boot disk']);
    expect(await stateOf(guest)).toBe('running');
    // The guest has no agent, so it does not support suspend to disk.
    expect(await failure(driver.power(guest.uuid, 'pmSuspend'))).toBe('unsupported');
    await driver.power(guest.uuid, 'destroy');
  });

  it.concurrent('shows that its QEMU process died, until the next start', async () => {
    const guest = await host.guest();
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    process.kill(await host.libvirtd.guestPid(guest.name), 'SIGKILL');
    await reaches(driver, guest, 'shutoff');
    expect((await driver.getSystem(guest.uuid)).failure).toBe('crashed');
    await driver.power(guest.uuid, 'create');
    expect((await driver.getSystem(guest.uuid)).failure).toBeUndefined();
    await driver.power(guest.uuid, 'destroy');
    expect((await driver.getSystem(guest.uuid)).failure).toBeUndefined();
  });

  it.concurrent.each(['reset', 'injectNmi', 'suspend'] as const)(
    'rejects %s as a conflict if its QEMU process ends during the action',
    async (action) => {
      const guest = await host.guest();
      await driver.power(guest.uuid, 'create');
      await guest.serial.reaches(2);
      const pid = await host.libvirtd.guestPid(guest.name);
      process.kill(pid, 'SIGSTOP');
      const rejected = failure(driver.power(guest.uuid, action));
      await until('libvirt to wait for QEMU', async () =>
        (await host.virsh('domcontrol', guest.name)).startsWith('occ'),
      );
      process.kill(pid, 'SIGKILL');
      expect(await rejected).toBe('conflict');
    },
  );

  it.concurrent.each([
    ['destroy', 'shutoff', ['<power on>', 'boot disk']],
    // libvirt preserves the process for a memory dump, and power-on does nothing, so no output follows.
    ['preserve', 'crashed', []],
  ] as const)('shows its panic until a restart, with <on_crash>%s', async (onCrash, state, afterPowerOn) => {
    const guest = await host.guest({ panics: true, devices: `<panic model='isa'/>` });
    await writeFile(
      host.file(`${guest.name}.xml`),
      guest.xml.replace('<devices>', `<on_crash>${onCrash}</on_crash><devices>`),
    );
    await host.virsh('define', host.file(`${guest.name}.xml`));
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.power(guest.uuid, 'pressButton');
    await reaches(driver, guest, state);
    expect((await driver.getSystem(guest.uuid)).failure).toBe('crashed');
    await driver.power(guest.uuid, 'create');
    const expectedEvents = ['<power on>', 'boot disk', 'power button', ...afterPowerOn];
    expect(await guest.serial.reaches(expectedEvents.length)).toEqual(expectedEvents);
    await driver.power(guest.uuid, 'reset');
    expect((await guest.serial.reaches(expectedEvents.length + 1)).at(-1)).toMatch(/<power on>|boot disk/);
    await reaches(driver, guest, 'running');
    expect((await driver.getSystem(guest.uuid)).failure).toBeUndefined();
    await driver.power(guest.uuid, 'destroy');
  });

  it.concurrent('has a staged firmware update installed after its next start or graceful restart', async () => {
    const guest = await host.guest();
    const update = async () => (await driver.getSystem(guest.uuid)).firmwareUpdate;
    await driver.change(guest.uuid, { firmwareVersion: '1.0.1' });
    expect(await update()).toEqual({ installed: null, staged: '1.0.1' });
    await driver.power(guest.uuid, 'create');
    expect(await update()).toEqual({ installed: '1.0.1', staged: null });
    await guest.serial.reaches(2);
    await driver.change(guest.uuid, { firmwareVersion: '1.0.2' });
    await driver.power(guest.uuid, 'reboot');
    await guest.serial.reaches(4);
    await until('the update', async () => (await update())?.installed === '1.0.2');
    await driver.power(guest.uuid, 'destroy');
  });

  it.concurrent('accepts an NMI if it runs, and rejects NMI, shutdown and graceful restart if it is off', async () => {
    const guest = await host.guest();
    for (const action of ['shutdown', 'reboot', 'injectNmi'] as const) {
      expect(await failure(driver.power(guest.uuid, action))).toBe('conflict');
    }
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.power(guest.uuid, 'injectNmi');
    expect(await stateOf(guest)).toBe('running');
    await driver.power(guest.uuid, 'destroy');
  });

  it.concurrent('restarts in a new process with the new definition if it was redefined while it ran', async () => {
    const cdrom = await host.drive('cd');
    const guest = await host.guest({ cdrom });
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    const changed = guest.xml
      .replace(`<boot order='1'/>`, `<boot order='2'/>`)
      .replace(`bus='sata'/>`, `bus='sata'/><boot order='1'/>`);
    await writeFile(host.file('changed.xml'), changed);
    await host.virsh('define', host.file('changed.xml'));
    await driver.power(guest.uuid, 'reset');
    expect((await guest.serial.reaches(4)).slice(2)).toEqual(['<power on>', 'boot cd']);
    await driver.power(guest.uuid, 'destroy');
  });

  it.concurrent('rejects actions that would end it if it is transient, and is not found after its end', async () => {
    const model = await host.guest();
    await host.virsh('undefine', model.name);
    await host.virsh('create', host.file(`${model.name}.xml`));
    const { state, persistent } = await driver.getSystem(model.uuid);
    expect({ state, persistent }).toEqual({ state: 'running', persistent: false });
    await model.serial.reaches(2);
    await driver.change(model.uuid, { indicator: 'blinking' });
    expect((await driver.getSystem(model.uuid)).indicator).toBe('blinking');
    await driver.power(model.uuid, 'reset');
    expect(await model.serial.reaches(3)).toEqual(['<power on>', 'boot disk', 'boot disk']);
    for (const action of ['destroy', 'shutdown', 'cycle', 'pressButton', 'pmSuspend'] as const) {
      expect(await failure(driver.power(model.uuid, action))).toBe('transient');
    }
    await driver.power(model.uuid, 'suspend');
    expect(await failure(driver.power(model.uuid, 'reset'))).toBe('transient');
    await driver.power(model.uuid, 'resume');
    expect(await failure(driver.change(model.uuid, { autostart: true }))).toBe('conflict');
    await driver.change(model.uuid, { assetTag: 'shelf 1' });
    const { assetTag, autostart } = await driver.getSystem(model.uuid);
    expect({ assetTag, autostart }).toEqual({ assetTag: 'shelf 1', autostart: undefined });
    await host.virsh('destroy', model.name);
    await until('the machine to be gone', async () => (await failure(driver.getSystem(model.uuid))) === 'notFound');
  });
});

// These tests run after the concurrent tests above. While many machines start, libvirtd may be too slow for the
// short timeouts here.
describe('a guest whose QEMU hangs', () => {
  it('can be restarted, and delays no other machine', async () => {
    const [hung, other] = await Promise.all([host.guest(), host.guest()]);
    await Promise.all([hung, other].map(({ uuid }) => driver.power(uuid, 'create')));
    await Promise.all([hung, other].map(({ serial }) => serial.reaches(2)));
    const quick = await host.driver({ timeoutMs: 10_000, diskSizeWaitMs: 1_000 });
    process.kill(await host.libvirtd.guestPid(hung.name), 'SIGSTOP');
    expect((await quick.getSystem(hung.uuid)).state).toBe('running');
    const interrupt = failure(quick.power(hung.uuid, 'injectNmi'));
    await quick.power(other.uuid, 'reset');
    expect((await other.serial.reaches(3)).at(-1)).toBe('boot disk');
    expect(await interrupt).toBe('unavailable');
    // A call that waits for QEMU now holds libvirt's lock of the machine.
    const isKnown = await givesXml(hung);
    const change = quick.change(hung.uuid, { indicator: 'blinking' });
    if (isKnown) await change;
    else expect(await failure(change)).toBe('unavailable');
    const { state, indicator, unansweredSince } = await quick.getSystem(hung.uuid);
    expect([state, indicator]).toEqual(['running', isKnown ? 'blinking' : null]);
    // If libvirt gives no XML, readers get the same last snapshot at once, with `unansweredSince`.
    expect(unansweredSince).toEqual(isKnown ? undefined : expect.any(Date));
    if (!isKnown) expect(await quick.getSystem(hung.uuid)).toBe(await quick.getSystem(hung.uuid));
    // Reads of the hanging machine do not delay other machines.
    for (let each = 0; each < 3; each += 1) await Promise.all([hung, other].map(({ uuid }) => quick.getSystem(uuid)));
    await quick.power(hung.uuid, 'reset');
    // The daemon starts the machine twice if libvirt ends the first new QEMU together with the hung one.
    await until('a new boot', () =>
      Promise.resolve(hung.serial.events.length > 3 && hung.serial.events.at(-1) === 'boot disk'),
    );
    await until('a new reading', async () => (await quick.getSystem(hung.uuid)).unansweredSince === undefined);
    await quick.close();
    for (const { uuid } of [hung, other]) await driver.power(uuid, 'destroy');
  });

  it('can be switched off', async () => {
    const guest = await host.guest();
    const quick = await host.driver({ diskSizeWaitMs: 1_000 });
    await quick.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    process.kill(await host.libvirtd.guestPid(guest.name), 'SIGSTOP');
    await quick.power(guest.uuid, 'destroy');
    expect((await quick.getSystem(guest.uuid)).state).toBe('shutoff');
    await quick.close();
  });
});

describe('changes of a machine by other programs', () => {
  it('are visible in later reads, and a deleted machine is not found', async () => {
    const guest = await host.guest();
    expect(await stateOf(guest)).toBe('shutoff');
    await host.virsh('start', guest.name);
    await reaches(driver, guest, 'running');
    await host.virsh('suspend', guest.name);
    await reaches(driver, guest, 'paused');
    await driver.power(guest.uuid, 'create');
    expect(await stateOf(guest)).toBe('running');
    await host.virsh('setmem', guest.name, '8M', '--config');
    await host.virsh('desc', guest.name, '--config', 'mine');
    const first = await driver.getSystem(guest.uuid);
    expect(first.description).toBe('mine');
    expect(await driver.getSystem(guest.name)).toBe(first);
    await host.virsh('destroy', guest.name);
    await host.virsh('undefine', guest.name);
    expect(await failure(driver.getSystem(guest.uuid))).toBe('notFound');
    expect((await driver.listSystems()).map(({ uuid }) => uuid)).not.toContain(guest.uuid);
  });
});

describe('a machine', () => {
  it('is found by its name, and by its UUID in upper or lower case, and shows its disks', async () => {
    const guest = await host.guest();
    const machine = await driver.getSystem(guest.uuid);
    expect(await driver.getSystem(guest.uuid.toUpperCase())).toBe(machine);
    expect(await driver.getSystem(guest.name)).toBe(machine);
    const untouched = { indicator: null, label: null, storage: null, pending: false };
    expect(machine.disks).toEqual([
      {
        target: 'vda',
        device: 'disk',
        bus: 'virtio',
        source: host.file(`${guest.name}.img`),
        serial: null,
        readonly: false,
        capacityBytes: 1_048_576,
        ...untouched,
      },
      {
        target: 'sda',
        device: 'cdrom',
        bus: 'sata',
        source: null,
        serial: null,
        readonly: true,
        capacityBytes: null,
        ...untouched,
      },
    ]);
  });
});

describe('a libvirtd that hangs, stops and starts', () => {
  it('makes reads fail while it hangs, and serves them when it answers again', async () => {
    const guest = await host.guest();
    const quick = await host.driver({ timeoutMs: 10_000 });
    await quick.getSystem(guest.uuid);
    host.libvirtd.signal('SIGSTOP');
    try {
      const failures = await Promise.all([failure(quick.getSystem(guest.uuid)), failure(quick.ping())]);
      expect(failures).toEqual(['unavailable', 'unavailable']);
    } finally {
      host.libvirtd.signal('SIGCONT');
    }
    await until('an answer', async () => (await quick.getSystem(guest.uuid)).name === guest.name);
    await quick.close();
  });

  it('may be down when a driver starts, and may restart: drivers then connect and get its events', async () => {
    const guest = await host.guest();
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await host.libvirtd.stopDaemon('SIGKILL');
    // The driver starts although libvirtd's socket does not exist.
    const { createLibvirtDriver } = await import('../../src/drivers/libvirt/libvirt-driver.js');
    const late = createLibvirtDriver({
      uri: host.libvirtd.uri,
      bootLoaderMap: {},
      storagePool: null,
      gracefulRestartWaitMs: 1_000,
      timeoutMs: 5_000,
      images: imageLimits,
      log: { info: () => undefined, warn: () => undefined, debug: () => undefined },
    });
    await late.start();
    expect(await failure(late.getSystem(guest.uuid))).toBe('unavailable');
    expect(await failure(late.listSystems())).toBe('unavailable');
    await until(
      'the loss of libvirtd to be seen',
      async () => (await failure(driver.getSystem(guest.uuid))) === 'unavailable',
    );
    await host.libvirtd.start();
    for (const each of [late, driver]) {
      await until('libvirtd to be back', async () => (await each.getSystem(guest.uuid)).state === 'running');
    }
    // The stop is visible only if both drivers have registered for events again.
    await host.virsh('destroy', guest.name);
    for (const each of [late, driver]) await reaches(each, guest, 'shutoff');
    await late.close();
  });
});
