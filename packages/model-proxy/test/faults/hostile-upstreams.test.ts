/**
 * Hostile upstreams. None of their bytes may end the proxy's process or reach another request.
 * Tests the upstream client (model requests in JSON, as streams and as forms; raw requests), and
 * WebSockets, which use Node's client. RACKLESS_HOSTILE_ANSWERS sets the number of answers, and
 * RACKLESS_SEED the first seed.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ProxyProcess } from '../harness/process.js';
import { hostileAnswer } from './random/hostile-answers.js';
import { probeAnswer, startHostileServer, type HostileServer } from './random/hostile-server.js';

const ANSWERS = Number(process.env['RACKLESS_HOSTILE_ANSWERS'] ?? 5000);
const SEED = Number(process.env['RACKLESS_SEED'] ?? 20_261_122);
const AT_ONCE = 8;
/** Maximum wait for an answer, in milliseconds. Only a proxy that hangs reaches it. */
const TIMEOUT_MS = 240_000;
/** Maximum size of a head to a client: half of the size at which clients built on Node fail. */
const MAX_CLIENT_HEAD_BYTES = 8_192;
/**
 * Maximum size of an answer that arrives in one read if the upstream sends it in one write. No byte of
 * such an answer can reach the proxy after the next request, so the next request must get its own answer.
 */
const ONE_READ_BYTES = 16_384;

interface TestRequest {
  readonly options: RequestOptions;
  readonly body?: string;
}

const json = { 'content-type': 'application/json' };
const chat = (id: string, stream: boolean): TestRequest => ({
  options: { method: 'POST', path: '/v1/chat/completions', headers: json },
  body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: id }], stream }),
});
const form = (id: string): TestRequest => {
  const parts = [
    '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n',
    `--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n${id}\r\n`,
    `--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n${'s'.repeat(2000)}\r\n--b--\r\n`,
  ];
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  return { options: { method: 'POST', path: '/v1/audio/transcriptions', headers }, body: parts.join('') };
};
const raw = (method: string) => (id: string) => ({ options: { method, path: `/openai/v1/${id}` } });
const rawPost = (id: string): TestRequest => ({
  options: { method: 'POST', path: '/openai/v1/x', headers: json },
  body: JSON.stringify({ id }),
});
const webSocket = (id: string): TestRequest => ({
  options: {
    path: `/openai/v1/realtime?model=m&x=${id}`,
    headers: {
      upgrade: 'websocket',
      connection: 'Upgrade',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  },
});

/** Each row: name, the hostile request, and a probe that reuses the same connections. */
const requestKinds: readonly (readonly [string, (id: string) => TestRequest, (id: string) => TestRequest])[] = [
  ['a chat', (id) => chat(id, false), (id) => chat(id, false)],
  ['a stream', (id) => chat(id, true), (id) => chat(id, false)],
  ['a form', form, (id) => chat(id, false)],
  ['a raw GET', raw('GET'), raw('GET')],
  ['a raw HEAD', raw('HEAD'), raw('GET')],
  ['a raw POST', rawPost, rawPost],
  ['a WebSocket', webSocket, raw('GET')],
];

type Outcome = { readonly status: number; readonly text: string } | 'cut' | { readonly error: string };

/**
 * Sends a request on a new connection. An incomplete answer is valid (`cut`). An answer is an error if it is not HTTP,
 * has a long head or an invalid status, or does not arrive in time.
 */
function send(base: string, { options, body }: TestRequest): Promise<Outcome> {
  return new Promise((resolve) => {
    const sent: ClientRequest = request(base, { ...options, agent: false }, (response) => read(response, resolve));
    sent.setTimeout(TIMEOUT_MS, () => resolve({ error: 'no answer came' }));
    sent.on('upgrade', (response: IncomingMessage, socket) => {
      socket.on('error', () => undefined).destroy();
      resolve({ status: response.statusCode ?? 0, text: '' });
    });
    sent.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code?.startsWith('HPE_') === true ? { error: `${error.code} ${error.message}` } : 'cut'),
    );
    if (body !== undefined) sent.setHeader('content-length', Buffer.byteLength(body));
    sent.end(body);
  });
}

function read(response: IncomingMessage, resolve: (outcome: Outcome) => void): void {
  const pieces: Buffer[] = [];
  const { statusCode: status = 0, rawHeaders } = response;
  response.on('data', (piece: Buffer) => pieces.push(piece));
  response.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code?.startsWith('HPE_') === true) resolve({ error: `${error.code} ${error.message}` });
  });
  response.on('close', () => {
    const headBytes = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
    if (headBytes > MAX_CLIENT_HEAD_BYTES) resolve({ error: `a head of ${headBytes} bytes` });
    else if (status < 200 || status > 599) resolve({ error: `status ${status}` });
    else resolve(response.complete ? { status, text: Buffer.concat(pieces).toString() } : 'cut');
  });
}

/** Returns whether the proxy gets the whole answer before the connection can serve a probe. */
function isOneRead(seed: number): boolean {
  const { writes } = hostileAnswer(seed);
  return writes.length === 1 && (writes[0]?.length ?? 0) <= ONE_READ_BYTES;
}

describe('a hostile upstream', () => {
  let hostile: HostileServer;
  let good: HostileServer;
  let folder: string;
  let proxy: ProxyProcess;
  let url: string;
  beforeAll(async () => {
    [hostile, good] = await Promise.all([startHostileServer(), startHostileServer()]);
    folder = mkdtempSync(join(tmpdir(), 'rackless-hostile-'));
    const model = (name: string, provider: string, { apiBase }: HostileServer) =>
      `  - {model_name: ${name}, litellm_params: {model: ${provider}/m, api_base: '${apiBase}', api_key: k, timeout: 30, use_in_pass_through: true}}\n`;
    const config = `model_list:\n${model('m', 'openai', hostile)}${model('good', 'hosted_vllm', good)}`;
    writeFileSync(join(folder, 'config.yaml'), config);
    proxy = new ProxyProcess(['--config', join(folder, 'config.yaml'), '--host', '127.0.0.1', '--port', '0']);
    url = await proxy.address();
  });
  afterAll(async () => {
    await proxy.dispose();
    await Promise.all([hostile.close(), good.close()]);
    rmSync(folder, { recursive: true });
  });

  /** Sends a probe, and checks its answer. @returns the fault of the answer; undefined: none. */
  const probe = async (makeRequest: (id: string) => TestRequest, seed: number): Promise<string | undefined> => {
    const outcome = await send(url, makeRequest(`probe-${seed}-`));
    const isRight =
      typeof outcome === 'object' &&
      'text' in outcome &&
      outcome.status === 200 &&
      outcome.text === probeAnswer(`${seed}`);
    return isRight ? undefined : `the next probe gets ${JSON.stringify(outcome)}`;
  };
  const goodChat = (id: string): TestRequest => {
    const { options, body = '' } = chat(id, false);
    return { options, body: body.replace('"m"', '"good"') };
  };

  /**
   * Gets a hostile answer. Then sends a probe to the good upstream, and one to the hostile upstream if the answer came
   * in one read.
   * @returns the first fault; undefined: none.
   */
  const round = async (seed: number): Promise<string | undefined> => {
    const [name, makeRequest, makeProbe] = requestKinds[seed % requestKinds.length] ?? requestKinds[0] ?? [];
    if (name === undefined || makeRequest === undefined || makeProbe === undefined)
      return 'no request kind for this seed';
    const outcome = await send(url, makeRequest(`hostile-${seed}-`));
    const { writes } = hostileAnswer(seed);
    const wrong =
      (typeof outcome === 'object' && 'error' in outcome ? `the client gets ${outcome.error}` : undefined) ??
      (isOneRead(seed) ? await probe(makeProbe, seed) : undefined) ??
      (await probe(goodChat, seed));
    const sent = Buffer.concat(writes).toString('latin1').slice(0, 300);
    return wrong && `RACKLESS_SEED=${seed} RACKLESS_HOSTILE_ANSWERS=1: ${name}: ${wrong}\nfor ${JSON.stringify(sent)}`;
  };

  it(
    `sends ${ANSWERS} mutated answers; each later request gets its own answer, and the proxy logs no internal error`,
    async () => {
      const faults: string[] = [];
      const runRounds = async (seeds: number[]) => {
        const worker = async () => {
          for (let seed = seeds.pop(); seed !== undefined && faults.length < 5; seed = seeds.pop()) {
            const wrong = await round(seed);
            if (wrong !== undefined) faults.push(wrong);
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, worker));
      };
      const all = Array.from({ length: ANSWERS }, (_, index) => SEED + index);
      await runRounds(all.filter(isOneRead));
      // These rounds run last, because the last bytes of an answer could reach the connection of another round's probe.
      await runRounds(all.filter((seed) => !isOneRead(seed)));
      const internal = proxy.output
        .split('\n')
        .filter((line) => /answering a request failed|unexpected error/.test(line));
      expect([faults, internal.slice(0, 5)]).toEqual([[], []]);
    },
    Math.max(1_800_000, ANSWERS * 50),
  );
});
