import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { failureOf, until } from '../../test/fake/until.js';
import { parseUri } from '../uri.js';
import { openLocal } from './open-local.js';
import type { Transport } from './transport.js';

let runtimeDir: string;
let servers: Server[];
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), 'rackless-open-'));
  await mkdir(join(runtimeDir, 'libvirt'));
  servers = [];
});
afterEach(async () => {
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
  await rm(runtimeDir, { recursive: true });
});

const socketAt = (name: string): string => join(runtimeDir, 'libvirt', name);

/** Starts a daemon that sends its name to each client. */
async function listen(name: string): Promise<void> {
  const server = createServer((socket) => socket.on('error', () => undefined).end(name));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(socketAt(name), resolve));
}

/** Connects to a URI, and returns the name that the daemon sends. By default, the start of a daemon fails. */
async function reach(
  uri: string,
  startDaemon: () => Promise<void> = () => Promise.reject(new Error('not to be started')),
  signal = AbortSignal.timeout(120_000),
): Promise<string> {
  let heard = '';
  let closed = false;
  const open = openLocal(parseUri(uri), { environment: { uid: 1000, runtimeDir }, startDaemon });
  const transport: Transport = await open(
    { data: (chunk) => (heard += chunk.toString()), closed: () => (closed = true) },
    signal,
  );
  await until('the greeting', () => closed);
  transport.destroy();
  return heard;
}

describe('opening a connection to a local daemon', () => {
  it('prefers the monolithic daemon to the modular daemon', async () => {
    await listen('virtqemud-sock');
    await listen('libvirt-sock');
    expect(await reach('qemu:///session')).toBe('libvirt-sock');
  });

  it('uses the modular daemon if there is no monolithic daemon', async () => {
    await listen('virtqemud-sock');
    expect(await reach('qemu:///session')).toBe('virtqemud-sock');
  });

  it('starts the user’s daemon if there is none, and waits until it listens', async () => {
    let started = 0;
    const startDaemon = (): Promise<void> => {
      started += 1;
      // Like a real daemon, this one listens only some time after its start.
      setTimeout(() => void listen('libvirt-sock'), 80);
      return Promise.resolve();
    };
    expect(await reach('qemu:///session', startDaemon)).toBe('libvirt-sock');
    expect(started).toBe(1);
  });

  it('fails when the signal aborts, if the daemon that it started does not listen', async () => {
    const controller = new AbortController();
    const startDaemon = (): Promise<void> => {
      setTimeout(() => controller.abort(new Error('long enough')), 120);
      return Promise.resolve();
    };
    const error = await failureOf(reach('qemu:///session', startDaemon, controller.signal));
    expect(error).toHaveProperty('message', 'long enough');
  });

  it('tries only the socket that the URI names, and does not start a daemon', async () => {
    await listen('libvirt-sock');
    const path = socketAt('other');
    expect(await failureOf(reach(`qemu+unix:///session?socket=${path}`))).toMatchObject({
      code: 'NOT_CONNECTED',
      message: `connecting to qemu+unix:///session?socket=${path}: connect ENOENT ${path}`,
    });
  });

  it('does not try the next socket after an error other than a missing daemon', async () => {
    // The paths are too long, which is an error for every user. EACCES would not work, because root never gets it.
    const deep = join(runtimeDir, 'x'.repeat(120));
    const open = openLocal(parseUri('qemu:///session'), {
      environment: { uid: 1000, runtimeDir: deep },
      startDaemon: () => Promise.reject(new Error('not to be started')),
    });
    const error = await failureOf(
      open({ data: () => undefined, closed: () => undefined }, AbortSignal.timeout(120_000)),
    );
    expect(error).toMatchObject({ code: 'NOT_CONNECTED', cause: { code: 'ENAMETOOLONG' } });
  });

  it('does not start a daemon for root, and lists all missing sockets in its error', async () => {
    const open = openLocal(parseUri('qemu:///session'), {
      environment: { uid: 0, runtimeDir },
      startDaemon: () => Promise.reject(new Error('not to be started')),
    });
    const error = await failureOf(
      open({ data: () => undefined, closed: () => undefined }, AbortSignal.timeout(120_000)),
    );
    const [first, second] = [socketAt('libvirt-sock'), socketAt('virtqemud-sock')];
    expect(error).toHaveProperty(
      'message',
      `connecting to qemu:///session: connect ENOENT ${first}; connect ENOENT ${second}`,
    );
  });
});
