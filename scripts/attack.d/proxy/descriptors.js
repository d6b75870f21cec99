/** Attacks that use up the file descriptors of the proxy. */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { oneModel } from '../daemons.js';
import { listen, openMany, PATIENCE } from '../wire.js';

const answer = '{"object":"chat.completion","model":"m","choices":[]}';
/** Maximum number of open file descriptors of the proxy (`ulimit -n`). */
const LIMIT = 256;
/** Paths of pages and of one raw request. No request has used them before the attack. */
const paths = ['/metrics', '/routes', '/health', '/', '/openai/v1/x'];

/** Waits until the proxy uses no CPU for a second, because it loads modules after its start. Waits a minute at most. */
async function idle(daemon) {
  for (let before = -1, left = PATIENCE; left > 0; left -= 1) {
    const now = daemon.cpuMs();
    if (now === before) return;
    before = now;
    await delay(1000);
  }
}

/** Returns the number of open file descriptors. */
const openFiles = (daemon) => readdirSync(`/proc/${daemon.pid}/fd`).length;

/**
 * Waits until `holds` returns true.
 * @throws {Error} with the result of `complaint` if this takes more than {@link PATIENCE}.
 */
async function until(holds, complaint) {
  for (const end = Date.now() + PATIENCE * 1000; !holds(); await delay(50)) {
    if (Date.now() > end) throw new Error(complaint());
  }
}

/**
 * Sends a request.
 * @returns a function that sends another request on the same connection, and then closes the connection.
 */
async function request(port, first, second) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  const send = async (path) => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, 'data');
  };
  await send(first);
  return async () => {
    await send(second);
    socket.destroy();
  };
}

const descriptorAttack = {
  name: `connections that take all ${LIMIT} file descriptors, and requests that need one more descriptor`,
  expected:
    'each request gets an answer; after the connections are closed, the proxy frees the descriptors, and all requests get 200',
  seconds: 120,
  run: async (arena) => {
    const server = await listen((socket) =>
      socket.on('data', () =>
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`,
        ),
      ),
    );
    const daemon = await arena.startProxy(oneModel(server.port, ', use_in_pass_through: true'), {
      through: ['bash', '-c', `ulimit -n ${LIMIT}; exec "$@"`, 'bash'],
    });
    try {
      await idle(daemon);
      const sendAgain = await Promise.all(paths.map((path) => request(daemon.port, '/health/liveliness', path)));
      const openBefore = openFiles(daemon);
      const end = await openMany(daemon.port, LIMIT * 2);
      await until(
        () => openFiles(daemon) >= LIMIT - 1,
        () => `only ${openFiles(daemon)} files are open`,
      );
      // Uses connections that were open before, because the proxy accepts no new ones.
      for (const send of sendAgain) await send();
      end();
      await until(
        () => openFiles(daemon) < openBefore + 20,
        () => `${openFiles(daemon)} files stay open`,
      );
      for (const path of paths) {
        const { status, text } = await daemon.request({ path });
        if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 200)}`);
      }
    } finally {
      server.close();
    }
  },
};

export const descriptors = [descriptorAttack];
