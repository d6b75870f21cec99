/** Measures 500 concurrent streams with an event every 50 ms: their latency and their cost. */
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { requestStreamed } from './bodies.js';
import { cpuTimeUs, LOAD_CORE, startPinned, stop } from './processes.js';
import { median, medianRatio, short, table, type Figure } from './report.js';
import type { Bench } from './rounds.js';
import { CLIENT_KEY, startTarget, type Target } from './targets.js';
import type { StreamOrder, StreamResult } from './stream-rig.js';

/** The upstream and the clients of streams, in a separate process. The caller stops it. */
export class StreamRig {
  readonly #process: ChildProcess;

  private constructor(
    child: ChildProcess,
    /** Port of the upstream. */
    readonly port: number,
  ) {
    this.#process = child;
  }

  static async start(): Promise<StreamRig> {
    const path = fileURLToPath(new URL('stream-rig.js', import.meta.url));
    const child = startPinned(LOAD_CORE, [process.execPath, path], ['ignore', 'inherit', 'inherit', 'ipc']);
    const [port] = (await once(child, 'message')) as [number]; // the first message of the rig is its port
    return new StreamRig(child, port);
  }

  /**
   * Runs a load.
   * @param url the URL of a target.
   */
  async run(url: string, order: Omit<StreamOrder, 'port' | 'key'>): Promise<StreamResult> {
    const answered = once(this.#process, 'message');
    const complete: StreamOrder = { ...order, port: Number(new URL(url).port), key: CLIENT_KEY };
    this.#process.send(complete);
    const [result] = (await answered) as [StreamResult]; // the rig answers an order with its result
    return result;
  }

  stop(): Promise<void> {
    return stop(this.#process);
  }
}

interface Row extends StreamResult {
  readonly cpuUs: number;
}

const STREAMS = 500;
const CHUNKS = 200;
const INTERVAL_MS = 50;

export async function benchStreams({ folder, rounds, print }: Bench): Promise<readonly Figure[]> {
  const rig = await StreamRig.start();
  const targets: Target[] = [];
  try {
    for (const name of ['nginx', 'http-pipe', 'model-proxy'] as const)
      targets.push(await startTarget(name, folder, rig.port));
    const order = {
      body: requestStreamed,
      streams: STREAMS,
      connections: STREAMS,
      chunks: CHUNKS,
      intervalMs: INTERVAL_MS,
    };
    const results = new Map<string, Row[]>(targets.map(({ name }) => [name, []]));
    for (const { url } of targets) await rig.run(url, { ...order, chunks: 20 });
    for (let round = 0; round < rounds; round += 1) {
      for (const { name, url, pid } of targets) {
        const before = await cpuTimeUs(pid);
        const result = await rig.run(url, order);
        const cpuUs = ((await cpuTimeUs(pid)) - before) / (STREAMS * CHUNKS);
        results.get(name)?.push({ ...result, cpuUs });
      }
    }
    print(shownRows(results));
    return figures(results.get('model-proxy') ?? [], results.get('http-pipe') ?? []);
  } finally {
    await Promise.all([rig.stop(), ...targets.map((target) => target.stop())]);
  }
}

function shownRows(results: ReadonlyMap<string, readonly Row[]>): string {
  const rows = [...results].map(([name, measured]) => {
    const middle = (value: (row: Row) => number) => short(median(measured.map(value)));
    return [
      name,
      middle(({ firstP50 }) => firstP50 / 1000),
      middle(({ p50 }) => p50),
      middle(({ p90 }) => p90),
      middle(({ p99 }) => p99 / 1000),
      middle(({ cpuUs }) => cpuUs),
      String(measured.reduce((sum, { lost }) => sum + lost, 0)),
    ];
  });
  const head = ['target', 'first event, ms', 'delay p50, µs', 'p90, µs', 'p99, ms', 'CPU an event, µs', 'lost'];
  return `${STREAMS} streams of ${CHUNKS} events, one each ${INTERVAL_MS} ms\n\n${table(head, rows)}`;
}

function figures(ours: readonly Row[], pipe: readonly Row[]): readonly Figure[] {
  const sum = (value: (row: Row) => number) => ours.reduce((total, row) => total + value(row), 0);
  const ratio = (value: (row: Row) => number) => medianRatio(ours.map(value), pipe.map(value));
  const common = { unit: '', better: 'lower' } as const;
  return [
    { ...common, what: 'streams: events lost', value: sum(({ lost }) => lost), must: 0, aim: null },
    {
      ...common,
      what: 'streams: without the renamed model',
      value: ours.length * STREAMS - sum(({ renamed }) => renamed),
      must: 0,
      aim: null,
    },
    { ...common, what: 'streams: delay p50 relative to http-pipe', value: ratio(({ p50 }) => p50), must: 1.3, aim: 1 },
    {
      ...common,
      what: 'streams: CPU time of an event relative to http-pipe',
      value: ratio(({ cpuUs }) => cpuUs),
      must: 1.3,
      aim: 1,
    },
  ];
}
