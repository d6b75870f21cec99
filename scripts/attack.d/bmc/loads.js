/** Attacks with many connections: unread answers and events, incomplete uploads, and silent connections. */
import { setTimeout as delay } from 'node:timers/promises';
import { openMany } from '../wire.js';
import { root } from './tree.js';

/** Returns the shared daemon with 50 machines, so that each expansion costs time and memory. */
const withMachines = (arena) =>
  arena.share('50 machines', () => {
    const uuid = (index) => `5ac4fa6e-0000-4000-9000-${String(index).padStart(12, '0')}`;
    const systems = Array.from({ length: 50 }, (_, index) => ({ uuid: uuid(index), name: `node-${index}`, nics: [] }));
    return arena.startBmc({ settings: { EMULATOR_FAKE_SYSTEMS: systems } });
  });

const deep = `GET ${root}?$expand=*($levels=6) HTTP/1.1\r\nHost: x\r\n\r\n`;
/**
 * Time limit of a GET of another client. docs/reference/security.md promises 1 s for 99 of 100 GETs, and `bench:storm`
 * measures this time. This limit is higher, because the host may be busy.
 */
const OTHER_CLIENT_SECONDS = 10;
/**
 * Allowed growth of the daemon's memory during or after an attack, in MiB. The allocator does not return all
 * freed memory.
 */
const MAX_GROWTH_MIB = 150;

/**
 * Waits until the memory is at most {@link MAX_GROWTH_MIB} above its value before an attack.
 * @throws {Error} if this takes more than about 20 s.
 */
async function settle(daemon, before) {
  let now = daemon.memoryMiB();
  for (let left = 100; left > 0 && now > before + MAX_GROWTH_MIB; left -= 1) {
    await delay(200);
    now = daemon.memoryMiB();
  }
  if (now > before + MAX_GROWTH_MIB)
    throw new Error(`memory was ${before.toFixed(0)} MiB before and is ${now.toFixed(0)} MiB after`);
}

/**
 * Makes an attack that opens connections for a while, during the requests of another client.
 * @param name states the number of connections in a short run, as a minimum if a long run opens more.
 * @param count `{short, long}`: the number of connections in a short and in a long run.
 * @param bytes sent by each connection.
 * @param openMs how long the connections stay open, in milliseconds; in a long run, five times as long.
 */
const storm = (name, count, bytes, openMs) => ({
  name,
  expected: `GETs meanwhile take at most ${OTHER_CLIENT_SECONDS} s, and within 20 s afterwards memory is at most ${MAX_GROWTH_MIB} MiB above its value before`,
  seconds: 90,
  run: async (arena) => {
    const daemon = await withMachines(arena);
    const before = daemon.memoryMiB();
    const end = await openMany(daemon.port, arena.isLong ? count.long : count.short, bytes);
    try {
      await daemon.attackWhileServing(OTHER_CLIENT_SECONDS, () => delay(arena.isLong ? openMs * 5 : openMs));
    } finally {
      end();
    }
    await settle(daemon, before);
  },
});

const upload = (path) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
  `e1000\r\n{"UserName":"${'x'.repeat(0xe1000 - 13)}`;

const slowUploads = {
  name: 'at least 300 connections that send 900 KiB of a body in chunks (the limit is 1 MiB), and stop',
  expected: `memory grows by at most ${MAX_GROWTH_MIB} MiB, and GETs meanwhile take at most ${OTHER_CLIENT_SECONDS} s`,
  seconds: 90,
  run: async (arena) => {
    const daemon = await withMachines(arena);
    const before = daemon.memoryMiB();
    const count = arena.rounds(300, 1000);
    const ends = [
      await openMany(daemon.port, count / 2, upload(`${root}/SessionService/Sessions`)),
      await openMany(daemon.port, count / 2, upload(`${root}/EventService/Subscriptions`)),
    ];
    try {
      await daemon.attackWhileServing(OTHER_CLIENT_SECONDS, () => delay(5000));
      const grown = daemon.memoryMiB() - before;
      if (grown > MAX_GROWTH_MIB) throw new Error(`memory grew by ${grown.toFixed(0)} MiB`);
    } finally {
      for (const end of ends) end();
    }
  },
};

const unreadEvents = {
  name: 'at least 50 event streams that no client reads, and at least 100 events',
  expected: `no event gets 500, GETs meanwhile take at most ${OTHER_CLIENT_SECONDS} s, and memory grows by at most ${MAX_GROWTH_MIB} MiB`,
  seconds: 90,
  run: async (arena) => {
    const daemon = await withMachines(arena);
    const before = daemon.memoryMiB();
    const stream = `GET ${root}/EventService/SSE HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n`;
    const end = await openMany(daemon.port, arena.rounds(50, 500), stream);
    const event = { MessageId: 'Base.1.0.Success', Message: 'x'.repeat(2000), EventId: '1' };
    const path = `${root}/EventService/Actions/EventService.SubmitTestEvent`;
    try {
      await daemon.attackWhileServing(OTHER_CLIENT_SECONDS, async () => {
        for (let left = arena.rounds(100, 5000); left > 0; left -= 1) {
          const { status } = await daemon.request({ method: 'POST', path, body: event });
          if (status === 500) throw new Error(`SubmitTestEvent was answered with ${status}`);
        }
      });
      const grown = daemon.memoryMiB() - before;
      if (grown > MAX_GROWTH_MIB) throw new Error(`memory grew by ${grown.toFixed(0)} MiB`);
    } finally {
      end();
    }
  },
};

export const loads = [
  storm('300 deep $expand that no client reads', { short: 300, long: 300 }, deep, 4000),
  storm('500 deep $expand in each connection', { short: 1, long: 4 }, deep.repeat(500), 3000),
  storm('at least 2,000 connections that send nothing', { short: 2000, long: 5000 }, '', 2000),
  storm('at least 1,000 connections that send half a head', { short: 1000, long: 5000 }, 'GET /redfish/v1 HTT', 2000),
  slowUploads,
  unreadEvents,
];
