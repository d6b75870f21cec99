/** Tests starts of machines that libvirt or QEMU rejects. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { daemonFixture } from './fixture.js';

const { start } = daemonFixture();
let libvirtd: PrivateLibvirtd;
let address: string;

beforeAll(async () => {
  libvirtd = await startLibvirtd({ driver: 'qemu' });
});
// The fixture ends the daemon after each test, so each test has its own daemon.
beforeEach(async () => {
  address = await start(['-i', '127.0.0.1', '-p', '0', '--libvirt-uri', libvirtd.uri]).address();
});
afterAll(() => libvirtd.stop());

/** Defines a machine with these devices, and returns the answer to its power-on. */
async function powerOn(name: string, devices: string): Promise<{ status: number; text: string }> {
  const file = join(libvirtd.dir, 'tmp', `${name}.xml`);
  await writeFile(
    file,
    `<domain type='qemu'><name>${name}</name><memory unit='MiB'>16</memory>
      <os><type arch='x86_64' machine='q35'>hvm</type></os><devices>${devices}</devices></domain>`,
  );
  await promisify(execFile)('virsh', ['--connect', libvirtd.uri, 'define', file]);
  const response = await fetch(`${address}/redfish/v1/Systems/${name}/Actions/ComputerSystem.Reset`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ResetType: 'On' }),
  });
  return { status: response.status, text: await response.text() };
}

/** Starts a server that never answers, so that a QEMU waits at its start. Returns the XML of a disk on the server. */
async function silentDisk(onConnection: () => Promise<void>): Promise<{ disk: string; close: () => Promise<void> }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    void onConnection();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
  const disk = `<disk type='network'><target dev='vda' bus='virtio'/>
    <source protocol='nbd'><host name='127.0.0.1' port='${port}'/></source></disk>`;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { disk, close };
}

describe('a start that fails', () => {
  it('gets 409 if another program ends QEMU during the start, because QEMU did not fail', async () => {
    const { disk, close } = await silentDisk(async () => {
      process.kill(await libvirtd.guestPid('ended'), 'SIGKILL');
    });
    try {
      const { status, text } = await powerOn('ended', disk);
      expect([status, text]).toEqual([409, expect.stringContaining('ResourceInUse')]);
      expect(text).toMatch(/Starting machine ended: .*; QEMU ended without an error, so another program/);
    } finally {
      await close();
    }
  });

  it("gets an answer with libvirt's reason and the name of the missing disk, without its folder", async () => {
    const disk = `<disk type='file'><source file='/srv/private/missing.img'/><target dev='vda' bus='virtio'/></disk>`;
    const { status, text } = await powerOn('no-disk', disk);
    expect([status, text]).toEqual([500, expect.stringContaining('OperationFailed')]);
    expect(text).toMatch(/Starting machine no-disk: .*'missing\.img'.*No such file/);
    expect(text).not.toContain('private');
  });

  it("gets an answer with QEMU's reason, without the token of a URL", async () => {
    const disk = `<disk type='network' device='cdrom'><target dev='sda' bus='sata'/><readonly/>
      <source protocol='http' name='a.iso' query='token=secret'><host name='127.0.0.1' port='1'/></source></disk>`;
    const { status, text } = await powerOn('no-server', disk);
    expect([status, text]).toEqual([500, expect.stringContaining('OperationFailed')]);
    expect(text).toMatch(/Starting machine no-server: .*(CURL|connect)/i);
    expect(text).not.toContain('secret');
  });

  it('gets an answer with the name of a network that does not exist', async () => {
    const { text } = await powerOn('no-network', `<interface type='network'><source network='lab'/></interface>`);
    expect(text).toMatch(/Starting machine no-network: .*no network with matching name 'lab'/);
  });
});
