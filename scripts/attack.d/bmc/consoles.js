/** Attacks on the serial consoles over SSH and WebSockets, by clients that are logged in. */
import { once } from 'node:events';
import ssh2 from 'ssh2';
import { WebSocket } from 'ws';
import { PASSWORD } from '../daemons.js';
import { PATIENCE } from '../wire.js';

/**
 * Logs in over SSH.
 * @returns the client and its inner protocol object, which can send requests that the client itself never sends.
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
  const [, port] = await daemon.waitForOutput(/consoles over SSH at port (\d+)/);
  return { daemon, port: Number(port) };
}

/**
 * Lets a machine print 64 KiB in each round: the machine echoes what this client types.
 * @returns the client that typed the input.
 */
async function printMuch(port, rounds) {
  const { client } = await logIn(port, 'admin');
  const channel = await new Promise((resolve, reject) =>
    client.exec('node-2', { pty: true }, (error, opened) => (error ? reject(error) : resolve(opened))),
  );
  let echoed = 0;
  channel.on('data', (bytes) => (echoed += bytes.length));
  await once(channel, 'data');
  const typed = Buffer.alloc(65_536, 'x');
  for (let round = 1; round <= rounds; round += 1) {
    channel.write(typed);
    while (echoed < round * typed.length) {
      await once(channel, 'data', { signal: AbortSignal.timeout(PATIENCE * 1000) });
    }
  }
  return client;
}

const packetAttack = {
  name: 'SSH clients whose packets may have at most 0, 1 or 255 bytes',
  expected: 'the daemon closes the channel or the connection, and GETs meanwhile take at most 20 s',
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
  expected: 'memory grows by at most 64 MiB, and the client gets a line about missing bytes when it reads again',
  seconds: 600,
  run: async (arena) => {
    const { daemon, port } = await startWithConsoles(arena);
    const { client: paused, protocol } = await logIn(port, 'admin');
    let output = '';
    let connect;
    const connected = new Promise((resolve) => (connect = resolve));
    const read = (_protocol, _channel, bytes) => {
      output = `${output}${bytes}`.slice(-200);
      connect();
    };
    Object.assign(protocol._handlers, { CHANNEL_DATA: read, CHANNEL_EXTENDED_DATA: read });
    protocol._handlers.CHANNEL_OPEN_CONFIRMATION = () => protocol.exec(0, 'node-2', false);
    protocol.session(7, 2 ** 32 - 1, 32_768);
    await connected;
    paused._sock.pause();
    const before = daemon.memoryMiB();
    const client = await printMuch(port, arena.rounds(1600, 16_000));
    const grown = Math.round(daemon.memoryMiB() - before);
    if (grown > 64) throw new Error(`memory grew by ${grown} MiB`);
    paused._sock.resume();
    for (const end = Date.now() + PATIENCE * 1000; !output.includes('bytes are missing here');) {
      if (Date.now() > end) throw new Error(`the client got no line about missing bytes: ${JSON.stringify(output)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    client.destroy();
    paused.destroy();
  },
};

/** Opens the WebSocket of a console. */
async function openSocket(daemon) {
  const url = `ws://127.0.0.1:${daemon.port}/redfish/v1/Systems/node-2/SerialConsole`;
  const headers = { Authorization: `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}` };
  const socket = new WebSocket(url, { headers });
  socket.on('error', () => undefined);
  await once(socket, 'open', { signal: AbortSignal.timeout(PATIENCE * 1000) });
  return socket;
}

const unreadSocketAttack = {
  name: 'ten WebSockets of a console that read nothing, while a machine prints',
  expected:
    'memory grows by at most 64 MiB; each client then gets a message about missing bytes, or was closed because it did not answer a ping',
  seconds: 600,
  run: async (arena) => {
    const { daemon, port } = await startWithConsoles(arena);
    const paused = await Promise.all(Array.from({ length: 10 }, () => openSocket(daemon)));
    for (const socket of paused) socket.pause();
    const before = daemon.memoryMiB();
    const client = await printMuch(port, arena.rounds(800, 8_000));
    const grown = Math.round(daemon.memoryMiB() - before);
    if (grown > 64) throw new Error(`memory grew by ${grown} MiB`);
    const ends = [];
    await Promise.all(
      paused.map(async (socket) => {
        const notified = new Promise((resolve, reject) => {
          socket.on('message', (data, isBinary) => {
            if (!isBinary && data.includes('bytes are missing here')) resolve();
          });
          // On a slow host, printing takes longer than a client may leave a ping unanswered. The daemon may then close
          // the connection.
          const onClose = () => daemon.waitForOutput(/did not answer a ping/).then(resolve, reject);
          socket.once('close', onClose);
          ends.push(() => socket.off('close', onClose));
        });
        const late = new Promise((_resolve, reject) =>
          setTimeout(() => reject(new Error('a client got no message about missing bytes')), PATIENCE * 1000).unref(),
        );
        socket.resume();
        await Promise.race([notified, late]);
      }),
    );
    for (const end of ends) end();
    for (const socket of paused) socket.terminate();
    client.destroy();
  },
};

const messageAttack = {
  name: 'WebSockets of a console that send invalid and very many messages',
  expected:
    'an invalid message ends the connection with code 4400; while 8 clients send 160,000 messages, GETs take at most 20 s',
  seconds: 120,
  run: async (arena) => {
    const { daemon } = await startWithConsoles(arena);
    const invalid = [
      '',
      '{',
      'null',
      '[]',
      '{"type":"__proto__"}',
      '{"type":"read","bytes":1e400}',
      '['.repeat(200_000),
    ];
    for (const text of invalid) {
      const socket = await openSocket(daemon);
      socket.send(text);
      const [code] = await once(socket, 'close', { signal: AbortSignal.timeout(PATIENCE * 1000) });
      if (code !== 4400) throw new Error(`${JSON.stringify(text.slice(0, 40))} ended with code ${code}`);
    }
    const sockets = await Promise.all(Array.from({ length: 8 }, () => openSocket(daemon)));
    await daemon.attackWhileServing(20, async () => {
      for (const socket of sockets)
        for (let count = 0; count < 20_000; count += 1)
          socket.send(count % 2 === 0 ? '{"type":"take"}' : '{"type":"release"}');
      await new Promise((resolve) => setTimeout(resolve, 2_000));
    });
    for (const socket of sockets) socket.terminate();
  },
};

export const consoles = [packetAttack, unreadAttack, unreadSocketAttack, messageAttack];
