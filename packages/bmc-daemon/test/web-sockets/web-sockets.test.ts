/** WebSockets over real connections: handshakes, the end of sessions, limits and hostile clients. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openListener, type Listener } from '@rackless/daemon/network/listener.js';
import { WebSocket, type ClientOptions } from 'ws';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { createApp, type App } from '../../src/app.js';
import { openAccess, type Access } from '../../src/auth/access.js';
import { initialAccessState } from '../../src/auth/access-state.js';
import { DriverError } from '../../src/drivers/driver-error.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { webSocketDefiner, type WebSocketClient } from '../../src/redfish/web-socket.js';
import type { WebSocketLimits } from '../../src/redfish/web-sockets/limits.js';
import { stateInMemory } from '../support/services.js';

const uri = '/redfish/v1/Systems/{systemId}/Echo';
const PASSWORD = 'secret words';

/** Sends each message back, and floods the client at `flood`. The machines `gone` and `bare` cannot be opened. */
const echo = webSocketDefiner<object>()({
  entity: 'ComputerSystem',
  uri,
  privilegesOf: 'POST',
  maxPerMachine: 2,
  open: ({ params: { systemId } }) => {
    if (systemId === 'gone') throw new DriverError('notFound', 'there is no such machine');
    if (systemId === 'bare') throw new DriverError('conflict', 'the machine has no screen');
    return {
      machine: systemId,
      accept: (client) => {
        served.push(client);
        return {
          message: (data, isBinary) => {
            received += 1;
            if (data.toString() === 'flood') flood(client);
            else client.send(isBinary ? data : data.toString());
          },
          closed: () => (closed += 1),
        };
      },
    };
  },
});

/** Sends 25 MiB, also while the client is too slow. */
function flood(client: WebSocketClient): void {
  const bytes = Buffer.alloc(256 * 1024);
  for (let sent = 0; sent < 100; sent += 1) client.send(bytes);
}

let served: WebSocketClient[];
let received: number;
let closed: number;
let folder: string;
let access: Access;
let app: App;
let listener: Listener;
let lines: string[];
let flushLog: () => void;
const clients: WebSocket[] = [];

beforeEach(() => {
  served = [];
  received = 0;
  closed = 0;
  lines = [];
  folder = mkdtempSync(join(tmpdir(), 'bmc-web-sockets-'));
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.terminate();
  app.endWebSockets();
  await listener.close(0);
  // Connections of this test must not end in the next one, which would count them.
  await until(() => closed === served.length);
  app.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a service with three accounts, or without a password file. */
async function start({
  open = false,
  ...limits
}: Partial<WebSocketLimits> & { readonly open?: boolean } = {}): Promise<void> {
  const file = join(folder, 'users');
  writeFileSync(file, '');
  for (const user of ['admin', 'olga', 'rick'])
    execFileSync('htpasswd', ['-bB', '-C', '4', file, user, PASSWORD], { stdio: 'pipe' });
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
  access = openAccess({
    authFile: open ? null : file,
    state: stateInMemory({
      ...initialAccessState,
      accounts: [{ user: 'rick', roleId: 'ReadOnly', enabled: true, passwordChangeRequired: false }],
    }),
    log: silent,
  });
  const own = lines;
  const log = createTestLog({ level: 'info', format: 'json', write: (text) => own.push(text) });
  flushLog = () => log.flush();
  app = createApp<object>({
    resources: [],
    webSockets: [echo],
    webSocketLimits: { tickMs: 10, ...limits },
    services: {},
    authenticate: access.authenticate,
    watchIdentity: access.watchIdentity,
    strict: true,
    log,
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
}

const host = () => new URL(listener.addresses[0] ?? '').host;
const basic = (user: string) => ({ Authorization: `Basic ${Buffer.from(`${user}:${PASSWORD}`).toString('base64')}` });

/** Opens a WebSocket, which is closed after the test. The handshake may still fail. */
function open(machine: string, protocols: readonly string[], options: ClientOptions = {}): WebSocket {
  const client = new WebSocket(`ws://${host()}/redfish/v1/Systems/${machine}/Echo`, [...protocols], options);
  clients.push(client);
  return client;
}

/** Returns the status of a rejected handshake. */
async function rejection(client: WebSocket): Promise<number> {
  client.on('error', () => undefined);
  const [, response] = (await once(client, 'unexpected-response')) as [unknown, { statusCode: number; resume(): void }]; // ws documents these arguments.
  response.resume();
  return response.statusCode;
}

/** Waits until a WebSocket ends, and returns the code and the reason. */
async function end(client: WebSocket): Promise<readonly [number, string]> {
  client.on('error', () => undefined);
  const [code, reason] = (await once(client, 'close')) as [number, Buffer]; // ws documents these arguments.
  return [code, reason.toString()];
}

async function message(client: WebSocket): Promise<string> {
  const [data] = (await once(client, 'message')) as [Buffer]; // ws documents these arguments.
  return data.toString();
}

async function token(user = 'admin'): Promise<{ readonly id: string; readonly text: string }> {
  const answer = await access.openSession({ user, password: PASSWORD }, { address: '127.0.0.1', isGone: () => false });
  if ('refused' in answer) throw new Error(answer.refused);
  return { id: answer.session.id, text: answer.token };
}

const logged = () => {
  flushLog();
  return lines
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

const endRecord = () => logged().find(({ message: text }) => text === 'a WebSocket ended');

/** Waits for something that no event reports. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a WebSocket', () => {
  it('opens with a session in a subprotocol, and logs no token', async () => {
    await start();
    const { text } = await token();
    const client = open('one', ['rackless', `rackless.token.${text}`]);
    await once(client, 'open');
    expect(client.protocol).toBe('rackless');
    client.send('Grüße');
    expect(await message(client)).toBe('Grüße');
    client.close(1000, 'done');
    await end(client);
    await until(() => closed === 1);
    expect(logged()).toEqual([
      expect.objectContaining({ message: 'request', status: 101, user: 'admin', path: '/redfish/v1/Systems/one/Echo' }),
      expect.objectContaining({ message: 'a WebSocket ended', code: 1000, reason: 'done', bytesIn: 7, bytesOut: 7 }),
    ]);
    expect(lines.join('')).not.toContain(text);
  });

  it('opens with a session or a password in a header', async () => {
    await start();
    const { text } = await token();
    for (const headers of [{ 'X-Auth-Token': text }, basic('admin')]) {
      const client = open('one', [], { headers });
      await once(client, 'open');
      client.send(Buffer.from([1, 2, 3]));
      expect(await message(client)).toBe('\u0001\u0002\u0003');
    }
  });

  it.each([
    ['no credentials', [], {}, 401],
    ['a wrong token', ['rackless', 'rackless.token.0000'], {}, 401],
    ['a role without the privilege', ['rackless'], { headers: basic('rick') }, 403],
    ['the origin of another site', [], { headers: basic('admin'), origin: 'http://evil.example' }, 403],
    ['the origin null', [], { headers: basic('admin'), origin: 'null' }, 403],
  ] as const)('is rejected with an HTTP error for %s', async (_what, protocols, options, status) => {
    await start();
    expect(await rejection(open('one', protocols, options))).toBe(status);
    expect(served).toEqual([]);
  });

  it('accepts the origin of its own page, also behind a proxy', async () => {
    await start();
    await once(open('one', [], { headers: basic('admin'), origin: `http://${host()}` }), 'open');
    const headers = { ...basic('admin'), 'X-Forwarded-Host': 'bmc.example' };
    await once(open('one', [], { headers, origin: 'https://bmc.example' }), 'open');
  });

  it('needs no login without a password file, and rejects a page with a foreign name', async () => {
    await start({ open: true });
    await once(open('one', ['rackless']), 'open');
    const rebound = open('one', ['rackless'], { headers: { Host: 'evil.example' }, origin: 'http://evil.example' });
    expect(await rejection(rebound)).toBe(403);
  });

  it.each([
    ['gone', 404, 4404],
    ['bare', 409, 4409],
  ])(
    'is rejected for the machine %s with HTTP %s, or with the code %s if it names a subprotocol',
    async (machine, status, code) => {
      await start();
      expect(await rejection(open(machine, [], { headers: basic('admin') }))).toBe(status);
      const [received, reason] = await end(open(machine, ['rackless'], { headers: basic('admin') }));
      expect([received, reason.length]).toEqual([code, expect.any(Number)]);
      expect(reason).not.toBe('');
    },
  );

  it('needs a handshake: another GET at its path gets 426, and other paths ignore a handshake', async () => {
    await start();
    const url = `http://${host()}/redfish/v1/Systems/one/Echo`;
    const plain = await fetch(url, { headers: basic('admin') });
    expect([plain.status, plain.headers.get('upgrade')]).toEqual([426, 'websocket']);
    expect((await fetch(url, { method: 'POST', headers: basic('admin') })).status).toBe(405);
    const otherPath = new WebSocket(`ws://${host()}/healthz`);
    clients.push(otherPath);
    expect(await rejection(otherPath)).toBe(200);
  });
});

describe('the end of a WebSocket', () => {
  const openAs = async (user = 'admin') => {
    const session = await token(user);
    const client = open('one', ['rackless', `rackless.token.${session.text}`]);
    await once(client, 'open');
    return { client, session };
  };

  it('follows the end of the session', async () => {
    await start();
    const { client, session } = await openAs();
    const other = (await openAs()).client;
    await access.sessions.end(session.id);
    expect(await end(client)).toEqual([4401, 'The session or the account is no longer valid.']);
    other.send('still here');
    expect(await message(other)).toBe('still here');
  });

  it('follows a change that disables its account, or that takes the privilege from the account', async () => {
    await start();
    await access.accounts?.change('rick', { roleId: 'Administrator' });
    const disabled = open('one', ['rackless'], { headers: basic('admin') });
    await once(disabled, 'open');
    await access.accounts?.change('admin', { enabled: false });
    expect(await end(disabled)).toEqual([4401, 'The session or the account is no longer valid.']);
    await access.accounts?.change('admin', { enabled: true });
    const demoted = open('one', ['rackless'], { headers: basic('admin') });
    await once(demoted, 'open');
    await access.accounts?.change('admin', { roleId: 'ReadOnly' });
    expect((await end(demoted))[0]).toBe(4403);
  });

  it('has the code 1001 when the service stops', async () => {
    await start();
    const { client } = await openAs();
    app.endWebSockets();
    expect(await end(client)).toEqual([1001, 'The service stops.']);
  });
});

describe('the limits of WebSockets', () => {
  const headers = basic('admin');

  it('reject further WebSockets of a machine, also if all open at once, but none of another machine', async () => {
    await start();
    const codes: number[] = [];
    const many = Array.from({ length: 12 }, () => open('one', ['rackless'], { headers }));
    for (const client of many) client.on('close', (code) => codes.push(code)).on('error', () => undefined);
    await until(() => codes.length === 10);
    expect(new Set(codes)).toEqual(new Set([4429]));
    expect(await rejection(open('one', [], { headers }))).toBe(429);
    await once(open('two', [], { headers }), 'open');
  });

  it('reject further WebSockets of the service', async () => {
    await start({ connections: 1 });
    await once(open('one', [], { headers }), 'open');
    expect(await rejection(open('two', ['rackless'], { headers }))).toBe(429);
  });

  it('reject further WebSockets of an account, but none of another account', async () => {
    await start({ connectionsOfAccount: 1 });
    await once(open('one', [], { headers: basic('admin') }), 'open');
    expect(await rejection(open('two', [], { headers: basic('admin') }))).toBe(429);
    expect(await end(open('two', ['rackless'], { headers: basic('admin') }))).toEqual([
      4429,
      'The account has 1 open WebSockets. Close one of them.',
    ]);
    await once(open('two', [], { headers: basic('olga') }), 'open');
  });

  it('close a client that sends a message above the limit', async () => {
    await start({ messageBytes: 1000 });
    const client = open('one', [], { headers });
    await once(client, 'open');
    client.send(Buffer.alloc(1001));
    expect((await end(client))[0]).toBe(1009);
    expect(received).toBe(0);
  });

  it('delay a client that sends more messages than the limit', async () => {
    await start({ messagesPerTick: 5, tickMs: 60_000 });
    const client = open('one', [], { headers });
    await once(client, 'open');
    // Each message is longer than one packet of the network.
    const text = Buffer.alloc(200_000);
    for (let sent = 0; sent < 40; sent += 1) client.send(text);
    await until(() => received > 5);
    const { port } = new URL(listener.addresses[0] ?? '');
    // During these requests, the client has time to send more messages.
    for (let turn = 0; turn < 10; turn += 1) await fetch(`http://127.0.0.1:${port}/healthz`);
    expect(received).toBeLessThan(10);
  });

  it('close a client that reads nothing', async () => {
    await start({ queuedBytes: 4 * 1024 * 1024 });
    const socket = await rawHandshake();
    socket.pause();
    socket.write(frame('flood'));
    await until(() => closed === 1);
    expect(endRecord()).toMatchObject({ code: 4429, reason: 'The client reads too slowly.' });
  });

  it('close a client that does not answer pings', async () => {
    await start({ ticksPerPing: 2 });
    await rawHandshake();
    await until(() => closed === 1);
    expect(endRecord()).toMatchObject({ code: 1006, reason: 'The client did not answer a ping.' });
  });

  it('close a client that does not answer a close', async () => {
    await start({ closeMs: 20 });
    await rawHandshake();
    served[0]?.close(1000, 'é'.repeat(200));
    await until(() => closed === 1);
    expect(endRecord()).toMatchObject({ code: 1000 });
  });
});

describe('a hostile client', () => {
  const status = async (change: Readonly<Record<string, string>>, rest = '') => {
    const socket = await rawSocket(change, rest);
    let answer = '';
    socket.on('data', (text: Buffer) => (answer += text.toString('latin1')));
    await once(socket, 'close');
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
  };

  it.each([
    ['version 12', { 'Sec-WebSocket-Version': '12' }, 426],
    ['no key', { 'Sec-WebSocket-Key': '' }, 400],
    ['a short key', { 'Sec-WebSocket-Key': 'AAAA' }, 400],
    ['a body', { 'Content-Length': '4' }, 400],
    ['two bodies', { 'Transfer-Encoding': 'chunked' }, 400],
  ])('gets an error for a handshake with %s', async (_what, change, expected) => {
    await start();
    expect(await status(change)).toBe(expected);
    expect(served).toEqual([]);
  });

  it.each([
    ['an unmasked frame', Buffer.from([0x81, 2, 0x61, 0x62]), 1002],
    ['reserved bits', Buffer.from([0xf1, 0x80, 0, 0, 0, 0]), 1002],
    ['an unknown opcode', Buffer.from([0x83, 0x80, 0, 0, 0, 0]), 1002],
    ['a length of 2^63', Buffer.from([0x82, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0]), 1009],
    ['a long control frame', Buffer.from([0x89, 0xfe, 0x10, 0, 0, 0, 0, 0]), 1002],
    ['text that is not UTF-8', Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0xff]), 1007],
    ['a continuation without a beginning', Buffer.from([0x80, 0x80, 0, 0, 0, 0]), 1002],
  ])('is closed after %s', async (_what, bytes, code) => {
    await start();
    const socket = await rawHandshake();
    const answer: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => answer.push(chunk));
    socket.write(bytes);
    await until(() => closed === 1);
    expect(endRecord()).toMatchObject({ code: 1006, reason: expect.stringMatching(/./) });
    expect(answer.at(-1)).toEqual(Buffer.from([0x88, 2, code >> 8, code & 0xff]));
    expect(received).toBe(0);
  });

  it('leaves nothing open if it disconnects during its handshake', async () => {
    await start();
    const text = handshake({});
    for (let length = 1; length <= text.length; length += 7) {
      const socket = connect(Number(new URL(listener.addresses[0] ?? '').port), '127.0.0.1');
      await once(socket, 'connect');
      socket.write(text.slice(0, length));
      socket.resetAndDestroy();
    }
    await once(open('two', [], { headers: basic('admin') }), 'open');
    await until(() => served.length === closed + 1);
  });
});

function handshake(change: Readonly<Record<string, string>>): string {
  const headers = {
    Host: host(),
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    ...basic('admin'),
    ...change,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `GET /redfish/v1/Systems/one/Echo HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

async function rawSocket(change: Readonly<Record<string, string>> = {}, rest = ''): Promise<Socket> {
  const socket = connect(Number(new URL(listener.addresses[0] ?? '').port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(handshake(change) + rest);
  return socket;
}

/** Opens a WebSocket without a library: it answers no pings and no close frames. */
async function rawHandshake(): Promise<Socket> {
  const socket = await rawSocket();
  await until(() => served.length === 1);
  return socket;
}

/** Returns a masked text frame; the mask is 0. */
function frame(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}
