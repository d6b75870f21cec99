/** Logins at the VNC server of a real QEMU: without and with a password, and inside of TLS. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '../../../libvirt/test/harness/pki.js';
import { RfbError } from '../../src/display/rfb/rfb-error.js';
import { logIn, type ServerLogin } from '../../src/display/rfb/server-login.js';

let folder: string;
let qemu: ChildProcess | undefined;
const sockets: Socket[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bmc-vnc-'));
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  if (qemu?.exitCode === null) {
    qemu.kill('SIGKILL');
    await once(qemu, 'exit');
  }
  qemu = undefined;
  await rm(folder, { recursive: true });
});

/** Starts a QEMU without a machine. @param vnc options after the socket. @throws {Error} with QEMU's errors. */
async function start(vnc: string, ...args: readonly string[]): Promise<void> {
  const socket = join(folder, 'vnc');
  const machine = ['-machine', 'none', '-nodefaults', '-display', 'none', '-monitor', 'none', '-serial', 'none'];
  const started = spawn('qemu-system-x86_64', [...machine, ...args, '-vnc', `unix:${socket}${vnc}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  qemu = started;
  let errors = '';
  started.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  while (!(await accepts(socket))) {
    if (started.exitCode !== null) throw new Error(errors);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Returns whether a server accepts connections. QEMU makes the file of its socket before it listens. */
function accepts(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.once('error', () => resolve(false));
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
  });
}

/** Logs in, and returns the length of the picture's name from ServerInit. */
async function nameLength(login: Partial<ServerLogin> = {}): Promise<number> {
  const socket = connect(join(folder, 'vnc'));
  sockets.push(socket);
  const stream = await logIn(socket, { password: null, remoteHost: null, ...login });
  stream.write(Buffer.from([1]));
  const chunks: Buffer[] = [];
  while (Buffer.concat(chunks).length < 24) {
    const [chunk] = (await once(stream, 'data')) as [Buffer]; // a stream of bytes sends buffers
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).readUInt32BE(20);
}

/** Returns the message of the RfbError of a login; any other error itself; `no failure` for a success. */
const failure = (login: Partial<ServerLogin> = {}) =>
  nameLength(login).then(
    () => 'no failure',
    (error: unknown) => (error instanceof RfbError ? error.message : error),
  );

const secret = ['-object', 'secret,id=secret,data=hush hush'];

describe('a login at a VNC server', () => {
  it('needs no password if the server asks for none', async () => {
    await start('');
    expect(await nameLength()).toBeGreaterThan(0);
  });

  it('removes its listeners from the connection', async () => {
    await start('');
    const socket = connect(join(folder, 'vnc'));
    sockets.push(socket);
    const counts = () => ['readable', 'close', 'error', 'end'].map((event) => socket.listenerCount(event));
    const before = counts();
    expect(await logIn(socket, { password: null, remoteHost: null })).toBe(socket);
    expect(counts()).toEqual(before);
  });

  it('sends a password, and the server compares its first 8 bytes', async () => {
    await start(',password-secret=secret', ...secret);
    expect(await nameLength({ password: 'hush hush' })).toBeGreaterThan(0);
    expect(await nameLength({ password: 'hush hus' })).toBeGreaterThan(0);
    expect(await failure({ password: 'wrong' })).toMatch(/^The display rejected the login: /);
    expect(await failure()).toBe('The display needs a password, and libvirt does not have it.');
  });

  it('uses TLS with anonymous keys, and sends the password inside of TLS', async () => {
    await start(',tls-creds=tls,password-secret=secret', '-object', 'tls-creds-anon,id=tls,endpoint=server', ...secret);
    expect(await nameLength({ password: 'hush hush' })).toBeGreaterThan(0);
    expect(await failure({ password: 'wrong' })).toMatch(/^The display rejected the login: /);
    expect(await failure()).toBe('The display needs a login of another kind inside of TLS.');
  });

  it('uses TLS with a certificate, and verifies it only if the display is on another host', async () => {
    const authority = await createAuthority(join(folder, 'ca'));
    const { cert, key } = await authority.server(['DNS:localhost']);
    await copyFile(authority.ca, join(folder, 'ca-cert.pem'));
    await copyFile(cert, join(folder, 'server-cert.pem'));
    await copyFile(key, join(folder, 'server-key.pem'));
    const credentials = `tls-creds-x509,id=tls,endpoint=server,verify-peer=off,dir=${folder}`;
    await start(',tls-creds=tls', '-object', credentials);
    expect(await nameLength()).toBeGreaterThan(0);
    expect(await failure({ remoteHost: 'localhost' })).toMatch(/^TLS to the display failed: .*certificate/);
  });

  it.each([
    ['a short text', 'RFB', 'The display closed the connection during the login.'],
    ['noise', 'x'.repeat(100), 'The display does not speak VNC.'],
    ['version 3.3', 'RFB 003.003\n', 'The VNC server of the display is too old.'],
    ['no security type', 'RFB 003.008\n\0\0\0\0\x04busy', 'The display rejected the login: busy.'],
    ['only SASL', 'RFB 003.008\n\x01\x14', 'The display needs a login of another kind, such as SASL.'],
  ])('reports a server that sends %s', async (_what, text, message) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end(Buffer.from(text, 'latin1'));
    });
    server.listen(join(folder, 'vnc'));
    await once(server, 'listening');
    expect(await failure()).toBe(message);
    server.close();
  });
});
