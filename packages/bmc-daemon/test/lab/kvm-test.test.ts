/** Tests the guests that show whether KVM works, while another client of libvirt reads serial ports. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Hypervisor } from '@rackless/libvirt';
import { runsWithKvm } from '../../src/drivers/libvirt/lab/platform/kvm-test.js';
import { LabLibvirtd } from './lab-libvirtd.js';

let lab: LabLibvirtd;
let command: Hypervisor;
let daemon: Hypervisor;

beforeAll(async () => {
  lab = await LabLibvirtd.start();
  command = Hypervisor.connect(lab.libvirtd.uri, { callTimeoutMs: 30_000 });
  daemon = Hypervisor.connect(lab.libvirtd.uri, { callTimeoutMs: 30_000 });
});
afterAll(async () => {
  await command.close();
  await daemon.close();
  await lab.stop();
});

it('runsWithKvm reads the serial port of a guest that a running daemon has opened first', async () => {
  let opened = 0;
  const create = command.domainCreateXml.bind(command);
  command.domainCreateXml = async (...args) => {
    const guest = await create(...args);
    const seen = await daemon.domainLookupByUuid(guest.uuid);
    const stream = await seen.openConsole();
    stream.on('error', () => undefined).resume();
    opened += 1;
    return guest;
  };
  // The result depends on the host. Without the serial port of the guest, the test of KVM fails.
  expect(typeof (await runsWithKvm(command, 30_000))).toBe('boolean');
  expect(opened).toBeGreaterThan(0);
}, 240_000);
