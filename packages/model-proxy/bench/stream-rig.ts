/**
 * Both ends of many streams in one process, so that one clock measures the latency of each event:
 * an upstream that writes the time into its events, and clients that read it. Uses plain sockets,
 * because only the proxy between them is measured. The parent sends a {@link StreamOrder} and gets
 * a {@link StreamResult}; the first message to the parent is the port.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** The load that the parent orders. */
export interface StreamOrder {
  /** Port of the target. */
  readonly port: number;
  /** JSON of each stream's request. */
  readonly body: string;
  readonly key: string;
  /** Total number of streams. */
  readonly streams: number;
  /** Concurrent connections. Each is reused for the next stream. */
  readonly connections: number;
  readonly chunks: number;
  /** Time between two events of a stream, in milliseconds. 0: one event in each turn of the event loop. */
  readonly intervalMs: number;
}

/** The result of a load; times in microseconds. */
export interface StreamResult {
  /** Missing events, plus one for each stream that ended early, plus the number of streams that never began. */
  readonly lost: number;
  readonly events: number;
  /** Streams in whose first event the proxy had put the provider before the model's name. */
  readonly renamed: number;
  /** Time from the request to its first event. */
  readonly firstP50: number;
  /** Time from the upstream's write to the client's read. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

const MARK = '"@';
/** Number of digits of a time in microseconds: enough for a week. */
const DIGITS = 12;
const nowUs = () => Math.round(performance.now() * 1000);

const head =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n';
const frame = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const last = `${frame('data: [DONE]\n\n')}0\r\n\r\n`;

function event(finish: string | null): string {
  const choice = `{"index":0,"delta":{"content":${MARK}${String(nowUs()).padStart(DIGITS, '0')}"},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}`;
  return `data: {"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"bench-model","choices":[${choice}]}\n\n`;
}

let order: StreamOrder | undefined;

/** Reads requests in order, and answers each with a stream. */
function serve(socket: Socket): void {
  let received = Buffer.alloc(0);
  let timer: NodeJS.Timeout | undefined;
  socket.setNoDelay(true);
  // The proxy under test closes its connections at its end.
  socket.on('error', () => undefined).on('close', () => clearInterval(timer));
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    const end = received.indexOf('\r\n\r\n');
    if (end === -1) return;
    const length = Number(/content-length: *(\d+)/i.exec(received.toString('latin1', 0, end))?.[1]);
    if (received.length < end + 4 + length) return;
    received = received.subarray(end + 4 + length);
    const { chunks, intervalMs } = order ?? { chunks: 1, intervalMs: 0 };
    let sent = 0;
    const step = (before: string): boolean => {
      sent += 1;
      const isLast = sent === chunks;
      socket.write(before + frame(event(isLast ? 'stop' : null)) + (isLast ? last : ''), 'latin1');
      return isLast;
    };
    if (intervalMs > 0) {
      if (step(head)) return;
      timer = setInterval(() => step('') && clearInterval(timer), intervalMs);
      return;
    }
    const flood = (before: string): void => {
      if (!step(before)) setImmediate(flood, '');
    };
    flood(head);
  });
}

/** A client that sends requests one after the other, and reads each answer to its end. */
class Client {
  readonly #socket: Socket;
  readonly #order: StreamOrder;
  readonly #run: Run;
  #askedAt = 0;
  #events = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(toDo: StreamOrder, run: Run) {
    this.#order = toDo;
    this.#run = run;
    this.#socket = connect(toDo.port, '127.0.0.1');
    this.#socket.setNoDelay(true);
    this.#socket.on('connect', () => this.#ask());
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', () => undefined).on('close', () => this.#over());
  }

  #ask(): void {
    if (this.#run.left === 0) {
      this.#socket.destroy();
      return;
    }
    this.#run.left -= 1;
    this.#events = 0;
    this.#askedAt = nowUs();
    const { port, key, body } = this.#order;
    this.#socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }

  #read(chunk: Buffer): void {
    const now = nowUs();
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (;;) {
      const at = bytes.indexOf(MARK, from, 'latin1');
      const end = at + MARK.length + DIGITS;
      if (at === -1 || end > bytes.length) break;
      if (this.#events === 0) {
        this.#run.firsts.push(now - this.#askedAt);
        if (bytes.lastIndexOf('/bench-model"', at, 'latin1') !== -1) this.#run.renamed += 1;
      }
      this.#events += 1;
      this.#run.delays.push(now - Number(bytes.toString('latin1', at + MARK.length, end)));
      from = end;
    }
    // The rest may contain the beginning of a mark, or of the last bytes of the body.
    this.#rest = bytes.subarray(Math.max(from, bytes.length - MARK.length - DIGITS));
    if (!bytes.subarray(-5).equals(endOfBody)) return;
    this.#rest = Buffer.alloc(0);
    this.#run.lost += this.#order.chunks - this.#events;
    this.#askedAt = 0;
    this.#ask();
  }

  #over(): void {
    if (this.#askedAt !== 0) this.#run.lost += this.#order.chunks - this.#events + 1;
    this.#run.clients -= 1;
    if (this.#run.clients === 0) this.#run.onEnd();
  }
}

const endOfBody = Buffer.from('0\r\n\r\n');

interface Run {
  left: number;
  clients: number;
  lost: number;
  renamed: number;
  readonly firsts: number[];
  readonly delays: number[];
  readonly onEnd: () => void;
}

async function run(toDo: StreamOrder): Promise<StreamResult> {
  order = toDo;
  const { streams, connections } = toDo;
  let onEnd = (): void => undefined;
  const ended = new Promise<void>((resolve) => (onEnd = resolve));
  const state: Run = { left: streams, clients: connections, lost: 0, renamed: 0, firsts: [], delays: [], onEnd };
  for (let index = 0; index < connections; index += 1) {
    new Client(toDo, state);
    // Staggers the streams, like those of real clients.
    if (toDo.intervalMs > 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await ended;
  const delays = Float64Array.from(state.delays).sort();
  const percentile = (share: number) => delays[Math.floor(delays.length * share)] ?? NaN;
  return {
    lost: state.lost + state.left,
    events: state.delays.length,
    renamed: state.renamed,
    firstP50: Float64Array.from(state.firsts).sort()[state.firsts.length >> 1] ?? NaN,
    p50: percentile(0.5),
    p90: percentile(0.9),
    p99: percentile(0.99),
  };
}

const server = createServer(serve).listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port); // the address of a TCP server is an object
});
process.on('message', (message) => {
  void run(message as StreamOrder).then((result) => process.send?.(result)); // the parent sends only orders
});
process.on('disconnect', () => process.exit());
