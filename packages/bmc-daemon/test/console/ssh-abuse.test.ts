/**
 * Attacks an SSH server that serves machines in memory. The attacks use the ssh2 library, because ssh itself cannot
 * send most of these requests.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import ssh2, { type ClientChannel, type ConnectConfig } from 'ssh2';
import { openAccess } from '../../src/auth/access.js';
import { initialAccessState } from '../../src/auth/access-state.js';
import { createConsoleHub, type ConsoleHub } from '../../src/console/console-hub.js';
import { openHostKeys } from '../../src/console/ssh/ssh-host-keys.js';
import { openSshServer, type SshServer } from '../../src/console/ssh/ssh-server.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { stateInMemory } from '../support/services.js';

let folder: string;
let driver: FakeDriver;
let hub: ConsoleHub;
let server: SshServer;
let logged: string[];
/** Listing the machines waits for this promise. */
let listing: Promise<void>;
const clients: ssh2.Client[] = [];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-ssh-abuse-'));
  logged = [];
  listing = Promise.resolve();
  const note = (message: string): void => void logged.push(message);
  const log = { info: note, warn: note, error: note, debug: () => undefined };
  driver = new FakeDriver();
  hub = createConsoleHub({ driver, log });
  server = await openSshServer({
    ip: '0.0.0.0',
    port: 0,
    hostKeys: openHostKeys(folder),
    access: openAccess({ authFile: null, state: stateInMemory(initialAccessState), log }),
    hub,
    driver: {
      listSystems: async () => {
        await listing;
        return driver.listSystems();
      },
    },
    machineAt: () => null,
    log,
  });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.end();
  await server.close();
  hub.close();
  await driver.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Connects as the user `node-2`. @throws the error of ssh2 if the login fails. */
async function client(options: ConnectConfig = {}): Promise<ssh2.Client> {
  const connection = new ssh2.Client();
  clients.push(connection);
  await new Promise<void>((resolve, reject) => {
    connection.on('ready', resolve).on('error', reject);
    connection.connect({ host: '127.0.0.1', port: server.port, username: 'node-2', ...options });
  });
  return connection;
}

/**
 * The inner protocol object of ssh2's client. It sends requests that the client itself cannot send.
 */
interface RawProtocol {
  readonly _handlers: Record<string, ((...args: readonly unknown[]) => void) | undefined>;
  session(channel: number, window: number, packetSize: number): void;
  shell(channel: number, wantReply: boolean): void;
  channelData(channel: number, bytes: Buffer): void;
  channelWindowAdjust(channel: number, amount: number): void;
}

async function rawClient(): Promise<{
  readonly connection: ssh2.Client & { readonly _sock: Socket };
  readonly protocol: RawProtocol;
}> {
  const connection = (await client()) as ssh2.Client & { readonly _sock: Socket; readonly _protocol: RawProtocol };
  return { connection, protocol: connection._protocol };
}

function shell(connection: ssh2.Client): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    connection.shell((error, channel) => {
      if (error === undefined) resolve(channel);
      else reject(error);
    });
  });
}

/** Returns the output of a channel up to its greeting, or all output if the channel ends before. */
async function greeting(channel: ClientChannel): Promise<string> {
  let output = '';
  for await (const bytes of channel) {
    output += String(bytes);
    if (output.includes('Connected')) break;
  }
  return output;
}

async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await delay(10);
}

describe('a hostile SSH client', () => {
  it('disturbs neither its first shell nor other clients if it asks for more shells on one channel', async () => {
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', note);
    try {
      const connection = await client();
      const channel = await shell(connection);
      // Only the inner protocol object can ask for a second shell.
      const { _protocol: protocol } = connection as unknown as {
        _protocol: { shell: (channel: number, wantReply: boolean) => void };
      };
      protocol.shell(0, false);
      protocol.shell(0, false);
      expect(await greeting(channel)).toContain('Connected to node-2');
      expect(await greeting(await shell(await client()))).toContain('Connected to node-2');
      expect(rejections).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('occupies no console if it leaves before the console opens', async () => {
    const connection = await client();
    let list: () => void = () => undefined;
    listing = new Promise((resolve) => (list = resolve));
    (await shell(connection)).close();
    list();
    // The server opens the second shell only after it has processed the first one.
    await greeting(await shell(connection));
    const opened = logged.filter((message) => message === 'console opened').length;
    expect(opened - logged.filter((message) => message === 'console closed').length).toBe(1);
  });

  it('can open a console again after it has reached the limit and closed its consoles', async () => {
    const connection = await client();
    const channels: ClientChannel[] = [];
    const refused: unknown[] = [];
    for (let count = 0; count < 20; count += 1) {
      await shell(connection).then(
        (channel) => channels.push(channel),
        (error: unknown) => refused.push(error),
      );
    }
    expect(refused).toHaveLength(4);
    await Promise.all(
      channels.map((channel) => {
        const closed = once(channel, 'close');
        channel.resume().close();
        return closed;
      }),
    );
    expect(await greeting(await shell(connection))).toContain('Connected');
  });

  it('loses its channel if its maximum packet size is too small, and disturbs no other client', async () => {
    const { connection, protocol } = await rawClient();
    const closed = new Promise((resolve) => (protocol._handlers['CHANNEL_CLOSE'] = resolve));
    protocol._handlers['CHANNEL_OPEN_CONFIRMATION'] = () => protocol.shell(0, false);
    protocol.session(7, 1024 * 1024, 1);
    await closed;
    expect(await greeting(await shell(await client()))).toContain('Connected to node-2');
    connection.end();
  });

  it('loses bytes, and gets their number, if it offers a window of 4 GiB and stops reading', async () => {
    const { connection, protocol } = await rawClient();
    let output = '';
    const gap = new Promise((resolve) => {
      protocol._handlers['CHANNEL_DATA'] = (_protocol, _channel, bytes) => {
        output = `${output}${String(bytes)}`.slice(-200);
        if (/\d+ bytes are missing here: this connection is too slow/.test(output)) resolve(undefined);
      };
    });
    protocol._handlers['CHANNEL_OPEN_CONFIRMATION'] = () => protocol.shell(0, false);
    protocol._handlers['CHANNEL_EXTENDED_DATA'] = (_protocol, _channel, bytes) => {
      protocol._handlers['CHANNEL_DATA']?.(_protocol, _channel, bytes);
    };
    protocol.session(7, 2 ** 32 - 1, 32 * 1024);
    const quick = await shell(await client());
    let echoed = 0;
    quick.on('data', (bytes: Buffer) => (echoed += bytes.length));
    await once(quick, 'data');
    connection._sock.pause();
    // The machine echoes this input to both clients. The echo is larger than the buffers of the sockets.
    const typed = Buffer.alloc(64 * 1024, 'x');
    for (let count = 1; count <= 256; count += 1) {
      quick.write(typed);
      while (echoed < count * typed.length) await once(quick, 'data');
    }
    connection._sock.resume();
    await gap;
  });

  it('gets all output and messages exactly once, even if it opens its window rarely', async () => {
    const { protocol } = await rawClient();
    let [output, messages] = ['', ''];
    protocol._handlers['CHANNEL_DATA'] = (_protocol, _channel, bytes) => (output += String(bytes));
    // The arguments are the protocol, the channel, the bytes, and the kind.
    protocol._handlers['CHANNEL_EXTENDED_DATA'] = (_protocol, _channel, bytes) => (messages += String(bytes));
    protocol._handlers['CHANNEL_OPEN_CONFIRMATION'] = () => protocol.shell(0, false);
    let openedBytes = 1024;
    protocol.session(7, openedBytes, 32 * 1024);
    await until(() => messages.includes('Connected to node-2'));
    const openWindow = (bytes: number): void => {
      openedBytes += bytes;
      protocol.channelWindowAdjust(0, bytes);
    };
    const quick = await shell(await client());
    let printed = '';
    const print = async (text: string): Promise<void> => {
      printed += text;
      quick.write(text);
      await until(() => echo.endsWith(text));
    };
    let echo = '';
    quick.on('data', (bytes: Buffer) => (echo += String(bytes)));

    for (const [round, text] of ['', 'together'].entries()) {
      // The guest prints 100 bytes more than the window. Then the client opens its window for these bytes.
      await print(`${'x'.repeat(openedBytes - output.length - messages.length)}${'y'.repeat(100)}`);
      openWindow(100);
      await until(() => output === printed);
      // The window is full, so the text of the help waits; in the second round, output waits too.
      protocol.channelData(0, Buffer.from('~?'));
      await print(text);
      openWindow(4096);
      await until(() => messages.split('leaves the console').length === round + 2 && output === printed);
    }
  });

  it('cannot use the largest Diffie-Hellman group', async () => {
    await expect(client({ algorithms: { kex: ['diffie-hellman-group18-sha512'] } })).rejects.toThrow(
      /no matching key exchange/,
    );
  });

  it('can have only one connection from each of its ports, even to several addresses of the server', async () => {
    const first = connect({ port: server.port, host: '127.0.0.1', localAddress: '127.0.0.1' });
    await once(first, 'data');
    const second = connect({
      port: server.port,
      host: '127.0.0.2',
      localAddress: '127.0.0.1',
      localPort: portOf(first),
    });
    const heard: Buffer[] = [];
    second.on('data', (bytes: Buffer) => heard.push(bytes)).on('error', () => undefined);
    await once(second, 'close');
    expect(heard).toEqual([]);
    expect(first.destroyed).toBe(false);
    first.destroy();
  });
});

function portOf({ localPort }: Socket): number {
  if (localPort === undefined) throw new Error('the socket is not connected');
  return localPort;
}
