/** Attacks other than HTTP requests to the daemon: floods of SSDP searches, and hostile answers of event listeners. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { listen, repeat } from '../wire.js';
import { root } from './tree.js';

const run = promisify(execFile);

const ssdpAttack = {
  name: 'a flood of SSDP searches: huge, malformed and unicast',
  expected:
    'one answer to a search before the flood; then at most 20 answers a second, no more bytes than were sent, none to a unicast search; GETs take at most 10 s',
  seconds: 90,
  run: async (arena) => {
    if (process.getuid() !== 0) return 'only root can make a network namespace';
    // Uses a network namespace, because the daemon must not announce itself on the host's network.
    const script = 'ip link set lo up multicast on && ip route add 239.0.0.0/8 dev lo && exec "$@"';
    const through = ['unshare', '--net', 'sh', '-c', script, 'sh'];
    const daemon = await arena.startBmc({ settings: { EMULATOR_SSDP: true }, through });
    const flood = fileURLToPath(new URL('ssdp-flood.js', import.meta.url));
    const inside = ['--target', String(daemon.pid), '--net', process.execPath, flood, String(daemon.port)];
    const { stdout } = await run('nsenter', inside, { timeout: 80_000 });
    const found = JSON.parse(stdout);
    const summary = JSON.stringify(found);
    if (found.probed !== 1) throw new Error(`the search before the flood got ${found.probed} answers: ${summary}`);
    // Allows 40 answers more: 20 that the daemon may send at once at the start, and 20 as a tolerance.
    if (found.answers > 20 * (found.seconds + 2)) throw new Error(`too many answers: ${summary}`);
    if (found.answerBytes > found.sentBytes) throw new Error(`more bytes than were sent: ${summary}`);
    if (found.unicast > 0) throw new Error(`answers to searches that were sent to the host alone: ${summary}`);
    if (found.worstMs > 10_000) throw new Error(`a GET meanwhile took too long: ${summary}`);
  },
};

/** Reactions of listeners to an event. */
const listeners = {
  'say nothing': () => undefined,
  'close at once': (socket) => socket.destroy(),
  'answer 101': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  'send 103 without end': (socket) => repeat(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 1),
  'send a body without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    repeat(socket, 'x'.repeat(16_384), 1);
  },
  'send a head byte by byte': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nX: ');
    repeat(socket, 'x', 20);
  },
  'answer twice': (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'.repeat(2)),
};

const listenerAttack = {
  name: `${Object.keys(listeners).length + 1} kinds of hostile listeners for events`,
  expected:
    'GETs meanwhile take at most 10 s, memory grows by at most 150 MiB, another listener gets an event, no redirect is followed, and SIGTERM ends the daemon with exit code 0',
  seconds: 90,
  run: async (arena) => {
    const daemon = await arena.startBmc();
    let redirected = 0;
    let delivered = 0;
    const target = await listen(() => (redirected += 1));
    const redirect = `HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:${target.port}/\r\nContent-Length: 0\r\n\r\n`;
    const honest = await listen((socket) =>
      socket.on('data', (piece) => {
        if (String(piece).includes('the event of the attack')) delivered += 1;
        // Answers after the end of an event.
        if (String(piece).endsWith('}')) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
      }),
    );
    const servers = [];
    try {
      for (const serve of [...Object.values(listeners), (socket) => socket.write(redirect)]) {
        servers.push(await listen((socket) => socket.on('data', () => serve(socket))));
      }
      const subscribe = async (port) => {
        const body = {
          Destination: `http://127.0.0.1:${port}/`,
          Protocol: 'Redfish',
          DeliveryRetryPolicy: 'RetryForever',
        };
        const { status } = await daemon.request({ method: 'POST', path: `${root}/EventService/Subscriptions`, body });
        if (status !== 201) throw new Error(`a subscription: ${status}`);
      };
      for (const { port } of servers)
        for (let count = 0; count < arena.rounds(10, 20); count += 1) await subscribe(port);
      await subscribe(honest.port);
      const before = daemon.memoryMiB();
      const event = { MessageId: 'Base.1.0.Success', Message: `the event of the attack ${'x'.repeat(1900)}` };
      const path = `${root}/EventService/Actions/EventService.SubmitTestEvent`;
      await daemon.attackWhileServing(10, async () => {
        for (let left = arena.rounds(50, 2000); left > 0; left -= 1) {
          const { status } = await daemon.request({ method: 'POST', path, body: event });
          if (status >= 300) throw new Error(`SubmitTestEvent was answered with ${status}`);
        }
        for (let left = 300; delivered === 0 && left > 0; left -= 1) await delay(100);
      });
      if (delivered === 0) throw new Error('the honest listener got no event');
      if (redirected > 0) throw new Error(`${redirected} redirects were followed`);
      const grown = daemon.memoryMiB() - before;
      if (grown > 150) throw new Error(`memory grew by ${grown.toFixed(0)} MiB`);
      const code = await daemon.stop();
      if (code !== 0) throw new Error(`SIGTERM: exit code ${code}`);
    } finally {
      for (const server of [...servers, target, honest]) server.close();
    }
  },
};

export const network = [ssdpAttack, listenerAttack];
