/** Attacks by upstreams whose answers are small on the network and large in memory. */
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { oneModel } from '../daemons.js';
import { exchange, listen } from '../wire.js';

const PLAIN_MIB = 400;
/** Maximum of the proxy's memory. The proxy uses about 70 MiB when idle, and an answer in JSON may have 50 MiB. */
const MAX_MIB = 400;
const body = '{"model":"m","messages":[]}';
const chat = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Status line and type of an upstream's answer, and the statuses that the client may get. */
const kinds = {
  JSON: ['200 OK', 'application/json', [502]],
  events: ['200 OK', 'text/event-stream', [200, 502]],
  sound: ['200 OK', 'audio/mpeg', [200]],
  'an error': ['500 No', 'application/json', [500]],
};

const bombAttack = {
  name: `answers of an upstream with ${PLAIN_MIB} MiB in 400 KB of gzip`,
  expected: `502 for JSON, 200 or 502 for events, 200 for sound, 500 for an error; at most ${MAX_MIB} MiB of memory; GETs meanwhile take at most 20 s, and SIGTERM ends the proxy with exit code 0`,
  seconds: 90,
  run: async (arena) => {
    const start = Buffer.from('{"model":"m","a":"');
    const bomb = gzipSync(Buffer.concat([start, Buffer.alloc(PLAIN_MIB * 1_048_576, 'x'), Buffer.from('"}')]));
    let head = '';
    const server = await listen((socket) =>
      socket.once('data', () => {
        socket.write(`${head}content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\nconnection: close\r\n\r\n`);
        socket.end(bomb);
      }),
    );
    const settings = 'general_settings: {max_response_size_mb: 50}\n';
    const daemon = await arena.startProxy(oneModel(server.port, '', settings));
    let max = 0;
    const watch = setInterval(() => (max = Math.max(max, daemon.memoryMiB())), 20);
    try {
      for (const [kind, [status, type, expected]] of Object.entries(kinds)) {
        head = `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\n`;
        const isEnough = (text) => text.length > 1_000_000;
        const { text } = await daemon.attackWhileServing(20, () => exchange(daemon.port, chat, { until: isEnough }));
        const received = Number(text.slice(9, 12));
        if (!expected.includes(received)) throw new Error(`${kind}: ${text.slice(0, 200)}`);
        await delay(50);
        if (max > MAX_MIB) throw new Error(`${kind}: ${max.toFixed(0)} MiB`);
      }
      clearInterval(watch);
      const code = await daemon.stop();
      if (code !== 0) throw new Error(`SIGTERM: exit code ${code}`);
    } finally {
      clearInterval(watch);
      server.close();
    }
  },
};

export const answers = [bombAttack];
