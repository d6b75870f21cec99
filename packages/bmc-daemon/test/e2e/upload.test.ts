import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { guestImage } from '../harness/guest-image.js';
import { property } from './bmc.js';
import { Lab, type Guest } from './lab.js';
import { describeEndToEnd } from './prerequisites.js';

const MIB = 1_048_576;
const tus = { 'Tus-Resumable': '1.0.0', connection: 'close' };

describeEndToEnd('uploads of local images', () => {
  let lab: Lab;
  let guest: Guest;

  beforeAll(async () => {
    // The limit is larger than any disk, so that an image below the limit can be too large for the pool.
    lab = await Lab.start({ settings: ['EMULATOR_VMEDIA_MAX_IMAGE_GIB = 65_000'] });
    guest = await lab.guest();
  });
  afterAll(() => lab.stop());

  const drive = (): string => `${guest.path}/VirtualMedia/Cd`;
  const url = (path: string): URL => new URL(path, lab.bmc.address);
  const announce = async (size: number): Promise<Response> => {
    const uri = String(property(await lab.bmc.get(drive()), 'Oem', 'Rackless', 'UploadURI'));
    const headers = { ...tus, 'Upload-Length': String(size), 'Upload-Metadata': `filename ${btoa('boot me.iso')}` };
    return await fetch(url(uri), { method: 'POST', headers });
  };
  const inspect = async (path: string): Promise<{ readonly status: number; readonly offset: number }> => {
    const { status, headers } = await fetch(url(path), { method: 'HEAD', headers: tus });
    return { status, offset: Number(headers.get('upload-offset')) };
  };
  const headersAt = (offset: number) => ({
    ...tus,
    'Upload-Offset': String(offset),
    'Content-Type': 'application/offset+octet-stream',
  });
  const append = async (path: string, offset: number, body: Buffer): Promise<Response> =>
    await fetch(url(path), { method: 'PATCH', headers: headersAt(offset), body: new Uint8Array(body) });
  /** Sends all bytes of a body but the last, and breaks the connection when the kernel has accepted them. */
  const appendAndBreak = async (path: string, offset: number, body: Buffer): Promise<void> => {
    await new Promise<void>((resolve) => {
      // The length promises one more byte, so the request is never complete.
      const headers = { ...headersAt(offset), 'Content-Length': String(body.length + 1) };
      const outgoing = request(url(path), { method: 'PATCH', headers, agent: false });
      outgoing.on('error', () => undefined);
      outgoing.on('close', resolve);
      outgoing.write(body, () => outgoing.destroy());
    });
  };
  const untilPoolIsEmpty = async (): Promise<void> => {
    while ((await lab.volumes()).length > 0) await sleep(100);
  };

  it('continue after broken connections, and the guest boots from the image', async () => {
    const iso = await readFile(await guestImage({ kind: 'iso', system: 'grub', label: 'UPLOADED' }));
    const begun = await announce(iso.length);
    expect(begun.status).toBe(201);
    const path = begun.headers.get('location') ?? '';
    expect(await begun.json()).toMatchObject({ TaskState: 'Running' });
    for (let breaks = 0; breaks < 12; breaks += 1) {
      const { offset } = await inspect(path);
      const size = Math.floor((Math.random() * (iso.length - offset)) / 3);
      await appendAndBreak(path, offset, iso.subarray(offset, offset + size));
    }
    let last = { status: 409 };
    while (last.status === 409) {
      const { offset } = await inspect(path);
      last = await append(path, offset, iso.subarray(offset));
    }
    expect(last.status).toBe(204);
    const inserted = { Inserted: true, ConnectedVia: 'Applet', Image: null, ImageName: 'boot me.iso' };
    expect(await lab.bmc.get(drive())).toMatchObject(inserted);
    await guest.setBoot({ target: 'Cd', enabled: 'Once' });
    await guest.reset('On');
    expect(await guest.nextEvent()).toBe('RACKLESS-ISO label=UPLOADED platform=pc');
    await guest.reset('ForceOff');
    const eject = await lab.bmc.send('POST', `${drive()}/Actions/VirtualMedia.EjectMedia`, {});
    expect((await lab.bmc.finish(eject)).status).toBe(204);
    expect(await lab.volumes()).toEqual([]);
  });

  it('leave nothing behind after the client cancels them, or after the restart of a killed daemon', async () => {
    const bytes = randomBytes(8 * MIB);
    const cancelled = (await announce(bytes.length)).headers.get('location') ?? '';
    expect((await append(cancelled, 0, bytes.subarray(0, 5 * MIB))).status).toBe(204);
    expect(await lab.volumes()).toHaveLength(1);
    expect((await fetch(url(cancelled), { method: 'DELETE', headers: tus })).status).toBe(204);
    expect(await lab.volumes()).toEqual([]);

    const killed = (await announce(bytes.length)).headers.get('location') ?? '';
    expect((await append(killed, 0, bytes.subarray(0, 5 * MIB))).status).toBe(204);
    await lab.killDaemon();
    await lab.startDaemon();
    expect((await inspect(killed)).status).toBe(404);
    await untilPoolIsEmpty();
    const again = (await announce(bytes.length)).headers.get('location') ?? '';
    expect((await append(again, 0, bytes)).status).toBe(204);
    expect(
      (await lab.bmc.finish(await lab.bmc.send('POST', `${drive()}/Actions/VirtualMedia.EjectMedia`, {}))).status,
    ).toBe(204);
  });

  it('are rejected before the first byte if the pool has no room, or the image is too large', async () => {
    const huge = await announce(60_000 * 1024 ** 3);
    expect([huge.status, JSON.stringify(await huge.json())]).toEqual([
      507,
      expect.stringContaining('InsufficientStorage'),
    ]);
    expect((await announce(66_000 * 1024 ** 3)).status).toBe(400);
    expect(await lab.bmc.get(drive())).toMatchObject({ Inserted: false });
    expect(await lab.volumes()).toEqual([]);
  });
});
