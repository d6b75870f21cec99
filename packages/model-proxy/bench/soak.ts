/** Sends many requests and streams through one process, whose memory must not grow. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { answer1KB, PUBLIC_MODEL, request1KB, requestStreamed } from './bodies.js';
import { loadTarget } from './load.js';
import { table, type Figure } from './report.js';
import { startUpstream, type Bench } from './rounds.js';
import { StreamRig } from './streams.js';
import { startModelProxy, type ModelProxy } from './targets.js';

const CONNECTIONS = 64;
const EVENTS = 20;
/** Share of all requests and streams after which everything is loaded, compiled and pooled. */
const WARM_UP = 0.1;
const STREAM_MODEL = `${PUBLIC_MODEL}-streamed`;

interface MemoryUse {
  readonly heapMb: number;
  readonly rssMb: number;
}

export async function benchSoak({ folder, soakRequests, print }: Bench): Promise<readonly Figure[]> {
  const upstream = await startUpstream(folder, answer1KB);
  const rig = await StreamRig.start();
  const probe = fileURLToPath(new URL('../../../test/faults/heap-probe.js', import.meta.url));
  const proxy = await startModelProxy(
    folder,
    {
      [PUBLIC_MODEL]: { apiBase: `http://127.0.0.1:${upstream.ports[0]}/v1` },
      [STREAM_MODEL]: { apiBase: `http://127.0.0.1:${rig.port}/v1` },
    },
    // No program reads these hundreds of megabytes of log lines.
    { nodeFlags: ['--expose-gc', '--import', probe], log: '/dev/null', stderr: 'pipe' },
  );
  const sent = { requests: 0, streams: 0, lost: 0 };
  /** Sends requests up to the given total, and then streams up to a tenth of it. */
  const send = async (requests: number): Promise<void> => {
    while (sent.requests < requests) {
      const { requests: more } = await loadTarget(folder, proxy, {
        body: request1KB,
        connections: CONNECTIONS,
        seconds: 5,
      });
      sent.requests += more;
    }
    const streams = Math.ceil(requests / 10) - sent.streams;
    const order = { streams, connections: CONNECTIONS, chunks: EVENTS, intervalMs: 0 };
    const body = requestStreamed.replace(`"${PUBLIC_MODEL}"`, `"${STREAM_MODEL}"`);
    sent.lost += (await rig.run(proxy.url, { ...order, body })).lost;
    sent.streams += streams;
  };
  try {
    const rows: string[][] = [];
    const held: MemoryUse[] = [];
    for (const share of [WARM_UP, 0.5 + WARM_UP / 2, 1 + WARM_UP]) {
      await send(Math.ceil(soakRequests * share));
      const now = await heldBy(proxy);
      held.push(now);
      rows.push([String(sent.requests), String(sent.streams), now.heapMb.toFixed(2), now.rssMb.toFixed(1)]);
    }
    print(
      `Soak: memory after garbage is collected\n\n${table(['requests', 'streams', 'heap, MB', 'resident, MB'], rows)}`,
    );
    const growth = (of: (one: MemoryUse) => number) => {
      const [first, last] = [held[0], held.at(-1)];
      return first === undefined || last === undefined ? NaN : (of(last) / of(first) - 1) * 100;
    };
    const common = { unit: '%', must: 5, aim: null, better: 'lower' } as const;
    return [
      { ...common, what: 'soak: growth of the heap', value: growth(({ heapMb }) => heapMb) },
      { ...common, what: 'soak: growth of resident memory', value: growth(({ rssMb }) => rssMb) },
      { ...common, what: 'soak: events lost', value: sent.lost, unit: '', must: 0 },
    ];
  } finally {
    await Promise.all([proxy.stop(), upstream.stop(), rig.stop()]);
  }
}

/** Requests a measurement from the probe in the process. */
async function heldBy({ process: child }: ModelProxy): Promise<MemoryUse> {
  // Connections end within half a second; their memory is not a leak.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const line = nextLine(child);
  child.kill('SIGUSR2');
  const json = /^heap (.*)$/.exec(await line)?.[1] ?? '';
  const { heapUsed, rss } = JSON.parse(json) as { heapUsed: number; rss: number }; // heap-probe.js prints both numbers
  return { heapMb: heapUsed / 1e6, rssMb: rss / 1e6 };
}

async function nextLine({ stderr }: ChildProcess): Promise<string> {
  if (stderr === null) throw new Error('asking for the heap: standard error is not a pipe');
  const lines = createInterface(stderr);
  const [line] = (await once(lines, 'line')) as [string]; // Node documents this argument of the event
  lines.close();
  return line;
}
