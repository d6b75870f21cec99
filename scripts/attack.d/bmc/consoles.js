/** Attacks on the serial consoles over SSH, by clients that are logged in. */
import { once } from 'node:events';
import ssh2 from 'ssh2';
import { PASSWORD } from '../daemons.js';
import { PATIENCE } from '../wire.js';

/**
 * Logs in.
 * @returns the client and its inner protocol object, which sends requests that the client would
 *   not.
 */
async function logIn(port, username) {
  const client = new ssh2.Client();
  client.on('error', () => undefined);
  client.connect({ host: '127.0.0.1', port, username, password: PASSWORD, readyTimeout: PATIENCE * 1000 });
  await once(client, 'ready', { signal: AbortSignal.timeout(PATIENCE * 1000) });
  return { client, protocol: client._protocol };
}

async function startWithConsoles(arena) {
  const daemon = await arena.startBmc({ users: ['admin'], settings: { EMULATOR_CONSOLE_SSH_PORT: 0 } });
  const [, port] = await daemon.said(/consoles over SSH at port (\d+)/);
  return { daemon, port: Number(port) };
}

const packetAttack = {
  name: 'SSH clients whose packets hold no byte, or one byte',
  expected: 'the channel is closed, and GETs meanwhile are answered',
  seconds: 120,
  run: async (arena) => {
    const { daemon, port } = await startWithConsoles(arena);
    for (const packetBytes of [0, 1, 255]) {
      const { client, protocol } = await logIn(port, 'admin');
      const closed = new Promise((resolve) => {
        protocol._handlers.CHANNEL_CLOSE = resolve;
        client.once('close', resolve);
      });
      protocol._handlers.CHANNEL_OPEN_CONFIRMATION = () => protocol.exec(0, 'node-2', false);
      protocol.session(7, 2 ** 32 - 1, packetBytes);
      await daemon.attackWhileServing(20, () => closed);
      client.destroy();
    }
  },
};

const unreadAttack = {
  name: 'an SSH client that offers a window of 4 GiB and reads nothing, while a machine prints',
  expected: 'memory grows by less than 64 MiB, and the client learns how much is missing',
  seconds: 180,
  run: async (arena) => {
    const { daemon, port } = await startWithConsoles(arena);
    const { client: deaf, protocol } = await logIn(port, 'admin');
    let said = '';
    const hear = (_protocol, _channel, bytes) => (said = `${said}${bytes}`.slice(-200));
    Object.assign(protocol._handlers, { CHANNEL_DATA: hear, CHANNEL_EXTENDED_DATA: hear });
    protocol._handlers.CHANNEL_OPEN_CONFIRMATION = () => protocol.exec(0, 'node-2', false);
    protocol.session(7, 2 ** 32 - 1, 32_768);
    const { client } = await logIn(port, 'admin');
    const channel = await new Promise((resolve, reject) =>
      client.exec('node-2', { pty: true }, (error, opened) => (error ? reject(error) : resolve(opened))),
    );
    let echoed = 0;
    channel.on('data', (bytes) => (echoed += bytes.length));
    await once(channel, 'data');
    deaf._sock.pause();
    const before = daemon.memoryMiB();
    const typed = Buffer.alloc(65_536, 'x');
    // The machine echoes input to both clients.
    for (let round = 1; round <= arena.rounds(1600, 16_000); round += 1) {
      channel.write(typed);
      while (echoed < round * typed.length) {
        await once(channel, 'data', { signal: AbortSignal.timeout(PATIENCE * 1000) });
      }
    }
    const grown = Math.round(daemon.memoryMiB() - before);
    if (grown > 64) throw new Error(`memory grew by ${grown} MiB`);
    deaf._sock.resume();
    for (const end = Date.now() + PATIENCE * 1000; !said.includes('bytes are missing here');) {
      if (Date.now() > end) throw new Error(`the client learned nothing: ${JSON.stringify(said)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    client.destroy();
    deaf.destroy();
  },
};

export const consoles = [packetAttack, unreadAttack];
