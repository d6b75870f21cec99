/** Tests power actions on guests that QEMU cannot continue without a reset. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DriverError } from '../../src/drivers/driver-error.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import type { PowerAction } from '../../src/drivers/power.js';
import { reaches, TestHost, until, type Guest } from './host.js';

let host: TestHost;
let driver: CompleteDriver;

beforeAll(async () => {
  host = await TestHost.start();
  driver = await host.driver();
});
afterAll(() => host.stop());

const monitorOf = ({ name }: Guest): string => host.file(`${name}.qmp`);

/** Defines a guest with a second monitor, with which the test can talk while libvirtd does not run. */
async function withMonitor(guest: Guest): Promise<Guest> {
  const monitor = ['-qmp', `unix:${monitorOf(guest)},server=on,wait=off`];
  const args = monitor.map((value) => `<qemu:arg value='${value}'/>`).join('');
  const xml = guest.xml
    .replace('<domain ', `<domain xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0' `)
    .replace('</domain>', `<qemu:commandline>${args}</qemu:commandline></domain>`);
  await writeFile(host.file(`${guest.name}.xml`), xml);
  await host.virsh('define', host.file(`${guest.name}.xml`));
  return guest;
}

/** Continues a paused guest and presses its power button. Waits until QEMU has stopped and needs a reset. */
async function powerOffBehindLibvirt(guest: Guest): Promise<void> {
  const socket = createConnection(monitorOf(guest));
  await once(socket, 'connect');
  const events = createInterface(socket);
  const ended = new Promise<void>((resolve) => {
    events.on('line', (line) => {
      if (line.includes('"STOP"')) resolve();
    });
  });
  for (const execute of ['qmp_capabilities', 'cont', 'system_powerdown']) {
    socket.write(`${JSON.stringify({ execute })}\n`);
  }
  await ended;
  socket.destroy();
}

/** Returns `done`, the kind of the DriverError of an action, or the text of another error. */
async function outcome({ uuid }: Guest, action: PowerAction): Promise<string> {
  return await driver.power(uuid, action).then(
    () => 'done',
    (error: unknown) => (error instanceof DriverError ? error.kind : String(error)),
  );
}

describe('a guest that stopped and needs a reset', () => {
  it('restarts for On unless it is transient; accepts Pause and Nmi, and rejects five other actions as a conflict', async () => {
    const guest = await withMonitor(await host.guest());
    const transient = await withMonitor(await host.guest());
    await host.virsh('undefine', transient.name);
    await host.virsh('create', host.file(`${transient.name}.xml`));
    await driver.power(guest.uuid, 'create');
    for (const each of [guest, transient]) {
      await each.serial.reaches(2);
      await driver.power(each.uuid, 'suspend');
    }
    // libvirt shows a guest as paused if QEMU stopped it after an internal error, or while no libvirtd ran. The test
    // uses the second way.
    await host.libvirtd.stopDaemon('SIGKILL');
    for (const each of [guest, transient]) await powerOffBehindLibvirt(each);
    await host.libvirtd.start();
    await until('the driver to connect', async () => driver.ping().then(() => true));
    for (const each of [guest, transient]) await reaches(driver, each, 'paused');

    const actions = ['resume', 'suspend', 'shutdown', 'reboot', 'pressButton', 'pmSuspend', 'injectNmi'] as const;
    const outcomes: Record<string, string> = {};
    for (const action of actions) outcomes[action] = await outcome(guest, action);
    expect(outcomes).toEqual({
      resume: 'conflict',
      suspend: 'done',
      shutdown: 'conflict',
      reboot: 'conflict',
      pressButton: 'conflict',
      pmSuspend: 'conflict',
      injectNmi: 'done',
    });
    await expect(driver.power(guest.uuid, 'resume')).rejects.toThrow('Resetting the Virtual Machine is required');
    // The transient machine needs a new process, but it would be lost when its process ends.
    expect(await outcome(transient, 'create')).toBe('transient');

    await driver.power(guest.uuid, 'create');
    expect((await guest.serial.reaches(5)).slice(-2)).toEqual(['<power on>', 'boot disk']);
    await reaches(driver, guest, 'running');
    await driver.power(guest.uuid, 'destroy');
    await host.virsh('destroy', transient.name);
  });
});
