/**
 * Inserts images from servers that never send a whole image. No operation and no shutdown may wait for them
 * without a limit.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sampleMachines } from '../../src/drivers/fake/sample-machines.js';
import { Bmc, fault, Machine, type Answer } from '../e2e/bmc.js';
import { TestHost } from '../libvirt-driver/host.js';
import { daemonFixture, FAKE } from './fixture.js';
import { DaemonProcess } from './process.js';

/** Each attack continues until the client disconnects. */
const attacks: Readonly<Record<string, (socket: Socket) => void>> = {
  'answers 101': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  'sends 103 without end': (socket) => repeat(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 1),
  'sends the headers byte by byte': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nX: ');
    repeat(socket, 'x', 20);
  },
  'sends the body byte by byte': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n');
    repeat(socket, 'x', 20);
  },
  'sends a body without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    repeat(socket, 'x'.repeat(4096), 5);
  },
  'sends nothing': () => undefined,
};

function repeat(socket: Socket, bytes: string, pauseMs: number): void {
  const next = (): void => {
    if (socket.writable) socket.write(bytes, () => setTimeout(next, pauseMs).unref());
  };
  next();
}

const { start } = daemonFixture();
const sockets = new Set<Socket>();
let servers: readonly Server[] = [];
const urls = new Map<string, string>();
/** The functions that a server calls after a request, by the name of its attack. */
const onRequest = new Map<string, () => void>();

beforeAll(async () => {
  servers = await Promise.all(
    Object.entries(attacks).map(async ([name, attack]) => {
      const server = createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => socket.destroy());
        socket.on('close', () => sockets.delete(socket));
        socket.once('data', () => {
          attack(socket);
          onRequest.get(name)?.();
        });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      // The address of a TCP server is an object.
      urls.set(name, `http://127.0.0.1:${(server.address() as AddressInfo).port}/boot.iso`);
      return server;
    }),
  );
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});

/**
 * Each operation becomes a task at once, and the time limits are above the duration of any test.
 */
const unlimited = {
  EMULATOR_LIBVIRT_TIMEOUT_SECONDS: '60',
  EMULATOR_TASK_AFTER_SECONDS: '0',
  EMULATOR_VMEDIA_ANSWER_TIMEOUT_SECONDS: '3600',
  EMULATOR_VMEDIA_IDLE_TIMEOUT_SECONDS: '3600',
  EMULATOR_VMEDIA_DOWNLOAD_TIMEOUT_SECONDS: '3600',
};
/** Like {@link unlimited}, but the attacks reach the time limits soon. */
const limited = {
  ...unlimited,
  EMULATOR_VMEDIA_ANSWER_TIMEOUT_SECONDS: '0.5',
  EMULATOR_VMEDIA_IDLE_TIMEOUT_SECONDS: '0.5',
  EMULATOR_VMEDIA_DOWNLOAD_TIMEOUT_SECONDS: '1',
};

describe.each(['machines in memory', 'a libvirt host'])('with %s, a hostile image server', (kind) => {
  const isFake = kind === 'machines in memory';
  let host: TestHost | undefined;
  let args = FAKE;
  let uuid = '';
  beforeAll(async () => {
    if (isFake) return;
    host = await TestHost.start();
    args = ['-i', '127.0.0.1', '-p', '0', '--libvirt-uri', host.libvirtd.uri];
    ({ uuid } = await host.guest());
  });
  afterAll(() => host?.stop());

  let bmc: Bmc;
  let machine: Machine;
  /** Uses the machine through this daemon. */
  const useDaemon = async (daemon: DaemonProcess): Promise<void> => {
    bmc = new Bmc(await daemon.address());
    if (isFake) uuid = sampleMachines(1)[0]?.uuid ?? '';
    machine = new Machine(uuid, () => bmc);
  };
  /** Sends an insert, and returns when the server has the request. */
  const insert = async (name: string): Promise<Answer> => {
    const reached = new Promise<void>((resolve) => onRequest.set(name, resolve));
    const answer = await machine.tryInsert(urls.get(name) ?? '');
    await reached;
    return answer;
  };
  /** Whether an insert succeeds. Machines in memory have no guest that reads the image, so headers are enough. */
  const isTaken = (name: string): boolean => isFake && name.includes('body');

  describe('delays an insert only up to the limits, and leaves the machine usable', () => {
    let daemon: DaemonProcess;
    let state = '';
    // One daemon for all attacks: each of them must leave it usable.
    beforeAll(async () => {
      state = mkdtempSync(path.join(tmpdir(), 'bmc-daemon-'));
      const env = { STATE_DIRECTORY: state, EMULATOR_CONSOLE_SSH_PORT: 'None', ...limited };
      daemon = new DaemonProcess(args, { env });
      await useDaemon(daemon);
    });
    afterAll(async () => {
      await daemon.dispose();
      rmSync(state, { recursive: true });
    });

    it.each(Object.keys(attacks))('although it %s', async (name) => {
      const inserting = await insert(name);
      const powerOn = await machine.tryReset('On');
      const inserted = await bmc.finish(inserting);
      if (isTaken(name)) expect(inserted.status).toBe(204);
      else expect([inserted.status, fault(inserted.body).key]).toEqual([502, 'CouldNotEstablishConnection']);
      expect((await bmc.finish(powerOn)).status).toBeLessThan(410);
      await machine.reset('On');
      await machine.eject();
      await machine.reset('ForceOff');
    });
  });

  it.each(Object.keys(attacks))(
    'delays neither an eject, nor a cancelled task, nor the shutdown of the daemon, although it %s',
    async (name) => {
      const daemon = start(args, { env: unlimited });
      await useDaemon(daemon);
      const ejected = await insert(name);
      await machine.eject();
      expect([204, 409, 502]).toContain((await bmc.finish(ejected)).status);

      const monitor = (await insert(name)).headers.get('location');
      // Some inserts fail before the test can cancel them.
      if (monitor !== null) await bmc.send('DELETE', monitor);
      await machine.eject();

      await insert(name);
      await machine.tryReset('On');
      daemon.signal('SIGTERM');
      expect(await daemon.waitForExit()).toMatchObject({ code: 0, stderr: '' });
      if (host !== undefined) await host.virsh('destroy', uuid).catch(() => undefined);
    },
  );
});
