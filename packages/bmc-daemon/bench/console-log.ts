/**
 * Measures the cost of console logs: three loads on two hundred machines, ten seconds each: no
 * output, a little output, and a flood. `npm run bench:console -w @rackless/bmc-daemon`. The serial
 * ports are in memory. The files are in a folder of $TMPDIR.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsoleListener } from '../src/console/console-line.js';
import { openConsoleLogs } from '../src/console/log/console-log.js';

const MACHINES = 200;
const SECONDS = 10;
const log = {
  info: () => undefined,
  warn: (text: string) => {
    console.error(text);
  },
};

/**
 * Runs a load for ten seconds, and prints its cost.
 * @param chunk the output of each machine every `everyMs`.
 */
async function measure(title: string, chunk: Buffer, everyMs: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'rackless-bench-'));
  const uuids = Array.from({ length: MACHINES }, (_, index) => `machine-${index}`);
  const listeners = new Map<string, ConsoleListener>();
  const logs = openConsoleLogs({
    driver: {
      listSystems: () => Promise.resolve(uuids.map((uuid) => ({ uuid, name: uuid }))),
      onChange: () => () => undefined,
      console: {
        open: () => Promise.reject(new Error('not used')),
        sendBreak: () => Promise.resolve(),
        instance: () => Promise.resolve('1'),
      },
    },
    hub: {
      attach: (uuid, listener) => {
        listeners.set(uuid, listener);
        return { write: () => undefined, detach: () => undefined };
      },
    },
    folder,
    log,
  });
  logs.start();
  while (listeners.size < MACHINES) await sleep(5);
  for (const listener of listeners.values()) listener.state('open', '');
  const before = process.cpuUsage();
  const began = performance.now();
  let printed = 0;
  let peak = 0;
  for (let round = 0; performance.now() - began < SECONDS * 1000; round += 1) {
    for (const listener of listeners.values()) listener.data(chunk);
    printed += chunk.length * MACHINES;
    peak = Math.max(peak, process.memoryUsage().rss);
    await sleep(Math.max(0, began + (round + 1) * everyMs - performance.now()));
  }
  const elapsed = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(before);
  const readBegan = performance.now();
  const records = await logs.ofSystem('machine-0').read();
  const readMs = performance.now() - readBegan;
  await logs.close();
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => path.join(folder, name));
  const stored = files.reduce((sum, file) => sum + statSync(file).size, 0);
  rmSync(folder, { recursive: true });
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
  console.log(
    `${title}: ${mib(printed / elapsed)} MiB/s ` +
      `printed, ${(((user + system) / 1e6 / elapsed) * 100).toFixed(1)} % of a CPU, ` +
      `${mib(peak)} MiB resident at most, ${mib(stored)} MiB on the disk, ${records.length} entries read ` +
      `in ${readMs.toFixed(1)} ms`,
  );
}

const line = Buffer.from('[  123.456789] systemd[1]: Started Session 42 of User root, and some more words of it.\r\n');
await measure('nothing', Buffer.alloc(0), 100);
await measure('10 lines a second each', line, 100);
await measure('flood', Buffer.concat(Array.from({ length: 740 }, () => line)), 100);
