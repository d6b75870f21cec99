/** The screens of real guests over WebSockets. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { WebSocket } from 'ws';
import { once } from 'node:events';
import { openListener, type Listener } from '@rackless/daemon/network/listener.js';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { createApp, type App } from '../../src/app.js';
import { openAccess } from '../../src/auth/access.js';
import { initialAccessState } from '../../src/auth/access-state.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { resources, webSockets, type AllServices } from '../../src/features.js';
import { TestHost, until, type Guest } from '../libvirt-driver/host.js';
import { stateInMemory, testServices } from '../support/services.js';
import { CURSOR, difference, litShare, screenshot, screenText, type Picture } from './pictures.js';
import { VncViewer } from './vnc-viewer.js';

const PASSWORD = 'secret words';

let host: TestHost;
let driver: CompleteDriver;
let app: App;
let listener: Listener;
const logged: string[] = [];
const viewers: VncViewer[] = [];

beforeAll(async () => {
  host = await TestHost.start();
  driver = await host.driver();
  const file = host.file('users');
  await writeFile(file, '');
  for (const user of ['admin', 'rick'])
    execFileSync('htpasswd', ['-bB', '-C', '4', file, user, PASSWORD], { stdio: 'pipe' });
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const access = openAccess({
    authFile: file,
    state: stateInMemory({
      ...initialAccessState,
      accounts: [{ user: 'rick', roleId: 'ReadOnly', enabled: true, passwordChangeRequired: false }],
    }),
    log: silent,
  });
  app = createApp<AllServices>({
    resources,
    webSockets,
    services: testServices(driver, { access, screens: {} }),
    authenticate: access.authenticate,
    watchIdentity: access.watchIdentity,
    strict: true,
    log: createTestLog({ level: 'info', format: 'json', write: (text) => logged.push(text) }),
    driver: new FakeDriver(),
    version: '1',
  });
  listener = await openListener({
    ip: '127.0.0.1',
    port: 0,
    handle: app.handler,
    onClientError: app.clientError,
    onError: () => undefined,
    onUpgrade: app.upgrade,
    isUpgradable: app.isWebSocket,
  });
});
afterEach(() => {
  for (const viewer of viewers.splice(0)) viewer.close();
});
afterAll(async () => {
  app.endWebSockets();
  await listener.close(0);
  app.close();
  await host.stop();
});

const headersOf = (user: string) => ({
  Authorization: `Basic ${Buffer.from(`${user}:${PASSWORD}`).toString('base64')}`,
});
const urlOf = ({ uuid }: Guest) =>
  `${(listener.addresses[0] ?? '').replace('http', 'ws')}/redfish/v1/Systems/${uuid}/GraphicalConsole`;

async function view(guest: Guest, user = 'admin'): Promise<VncViewer> {
  const viewer = await VncViewer.open(urlOf(guest), ['rackless'], { headers: headersOf(user) });
  viewers.push(viewer);
  return viewer;
}

/** Returns the code and the reason with which a screen is closed at once. */
async function rejectionOf(guest: Guest): Promise<readonly [number, string]> {
  const socket = new WebSocket(urlOf(guest), ['rackless'], { headers: headersOf('admin') });
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer]; // ws documents these arguments.
  return [code, reason.toString()];
}

const video = `<video><model type='vga'/></video>`;

/** Starts a guest with a display. @param graphics the markup of its VNC server. */
async function started(graphics: string): Promise<Guest> {
  const guest = await host.guest({ machine: 'pc', cdrom: '', devices: `${graphics}${video}` });
  await host.virsh('start', guest.name);
  return guest;
}

/** Waits until ten pictures in a row are the same as QEMU's own screenshots, and show more than a cursor. */
async function untilSame(viewer: VncViewer, guest: Guest): Promise<Picture> {
  let previous = await viewer.picture();
  for (let same = 0; same < 10;) {
    const picture = await viewer.picture();
    const isSame =
      difference(picture, previous) < CURSOR && difference(picture, await screenshot(host, guest)) < CURSOR;
    same = isSame && litShare(picture) > CURSOR ? same + 1 : 0;
    previous = picture;
  }
  return previous;
}

const socketOf = (name: string) => `<graphics type='vnc' socket='${host.file(name)}'/>`;

describe('the screen of a guest', () => {
  it('RF-96 shows the firmware, as QEMU shows it, to several viewers', async () => {
    const guest = await started(socketOf('one.vnc'));
    const [first, second] = [await view(guest), await view(guest, 'rick')];
    await untilSame(first, guest);
    await untilSame(second, guest);
  });

  it('opens at a port, and with a password that neither an answer nor the log shows', async () => {
    const guest = await started(
      `<graphics type='vnc' port='-1' autoport='yes' passwd='hush'><listen type='address' address='0.0.0.0'/></graphics>`,
    );
    await untilSame(await view(guest), guest);
    const answer = await fetch(urlOf(guest).replace('ws', 'http').replace('/GraphicalConsole', ''), {
      headers: headersOf('admin'),
    });
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({
      GraphicalConsole: { ServiceEnabled: true, MaxConcurrentSessions: 16, ConnectTypesSupported: ['KVMIP'] },
    });
    expect(`${text}${logged.join('')}`).not.toContain('hush');
  });

  it('accepts keys of an administrator, and none of a reader', async () => {
    // The firmware waits 60 s for the key ESC, which opens the boot menu.
    const guest = await host.guest({
      machine: 'pc',
      cdrom: '',
      os: `<bootmenu enable='yes' timeout='60000'/>`,
      devices: `${socketOf('keys.vnc')}${video}`,
    });
    await host.virsh('start', guest.name);
    const [admin, reader] = [await view(guest), await view(guest, 'rick')];
    const ESCAPE = 0xff1b;
    // A slow firmware pauses before this line, so the test waits for it.
    await until('the offer of the boot menu', async () => (await screenText(host, guest)).includes('Press ESC'));
    const before = await untilSame(admin, guest);
    reader.press(ESCAPE);
    // The reader's next picture proves that the daemon has read the key.
    await untilSame(reader, guest);
    expect(difference(await admin.picture(), before)).toBeLessThan(CURSOR);
    // The firmware may not read its keyboard yet, so the test presses the key again and again.
    while (difference(await admin.picture(), before) < CURSOR) admin.press(ESCAPE);
  });

  it('ends with 4409 when the machine stops', async () => {
    const guest = await started(socketOf('stop.vnc'));
    const viewer = await view(guest);
    const ended = viewer.end();
    await host.virsh('destroy', guest.name);
    expect(await ended).toEqual([4409, 'The display has ended. The machine may be off.']);
    expect(await rejectionOf(guest)).toEqual([4409, expect.stringContaining('it is off')]);
  });

  it('ends with 4409 and the reason if the machine has no display, or none that listens', async () => {
    const guest = await host.guest({ machine: 'pc', cdrom: '' });
    await host.virsh('start', guest.name);
    expect(await rejectionOf(guest)).toEqual([4409, expect.stringContaining('it has no VNC display')]);
    const silent = await started(`<graphics type='vnc'><listen type='none'/></graphics>`);
    expect(await rejectionOf(silent)).toEqual([4409, expect.stringContaining('listens at no socket and no port')]);
  });

  it('RF-97 is added to a machine without one at its next start', async () => {
    const guest = await host.guest({ machine: 'pc', cdrom: '', devices: `<serial type='null'/>` });
    await host.virsh('start', guest.name);
    const uri = urlOf(guest).replace('ws', 'http').replace('/GraphicalConsole', '');
    const send = async (method: string, path: string, body?: object, user = 'admin') => {
      const headers = { ...headersOf(user), 'Content-Type': 'application/json' };
      const answer = await fetch(uri + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      return { status: answer.status, text: await answer.text() };
    };
    const enable = { GraphicalConsole: { ServiceEnabled: true } };
    expect((await send('GET', '')).text).toContain('"GraphicalConsole":{"ServiceEnabled":false,');
    expect((await send('PATCH', '', enable, 'rick')).status).toBe(403);
    expect((await send('PATCH', '', { GraphicalConsole: { ServiceEnabled: false } })).status).toBe(400);
    const changed = await send('PATCH', '', enable);
    expect([changed.status, changed.text]).toEqual([200, expect.stringContaining('ResetRequired')]);
    await send('PATCH', '', enable);
    expect((await host.virsh('dumpxml', '--inactive', guest.name)).match(/<graphics /g)).toHaveLength(1);
    const reset = await send('POST', '/Actions/ComputerSystem.Reset', { ResetType: 'PowerCycle' });
    expect(reset.status).toBeLessThan(300);
    await untilSame(await view(guest), guest);
    expect((await send('GET', '')).text).toContain('"GraphicalConsole":{"ServiceEnabled":true,');
  });

  it('ends with its session, and has a limited number of viewers', async () => {
    const guest = await started(socketOf('many.vnc'));
    const sessions = `${listener.addresses[0] ?? ''}/redfish/v1/SessionService/Sessions`;
    const login = await fetch(sessions, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ UserName: 'admin', Password: PASSWORD }),
    });
    const token = login.headers.get('x-auth-token') ?? '';
    const viewer = await VncViewer.open(urlOf(guest), ['rackless', `rackless.token.${token}`]);
    viewers.push(viewer);
    // Silent viewers do not disturb others: none of them asks for a picture.
    for (let count = 1; count < 16; count += 1) await view(guest, 'rick');
    expect(await rejectionOf(guest)).toEqual([4429, expect.stringContaining('16 open WebSockets')]);
    await untilSame(viewer, guest);
    const ended = viewer.end();
    const session = new URL(login.headers.get('location') ?? '', sessions);
    await fetch(session, { method: 'DELETE', headers: { 'X-Auth-Token': token } });
    expect(await ended).toEqual([4401, 'The session or the account is no longer valid.']);
    expect(logged.join('')).not.toContain(token);
  });

  it('is not disturbed by a viewer that asks for pictures and reads none', async () => {
    const guest = await started(socketOf('slow.vnc'));
    const [slow, other] = [await view(guest), await view(guest)];
    const { width, height } = await other.picture();
    slow.socket.pause();
    const request = Buffer.alloc(10);
    request.writeUInt8(3);
    request.writeUInt16BE(width, 6);
    request.writeUInt16BE(height, 8);
    const before = process.memoryUsage().rss;
    // The answers are more than a hundred pictures of a megabyte each.
    for (let count = 0; count < 200; count += 1) slow.send(request);
    for (let count = 0; count < 50; count += 1) await other.picture();
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
    await untilSame(other, guest);
  });

  it('closes a client that sends no VNC', async () => {
    const guest = await started(socketOf('noise.vnc'));
    const viewer = await view(guest);
    const ended = viewer.end();
    viewer.send(Buffer.from([99, 1, 2, 3]));
    expect((await ended)[0]).toBe(1002);
  });
});
