/** Attacks by upstreams of the proxy: invalid heads and bodies, unsolicited answers, and silence. */
import { setTimeout as delay } from 'node:timers/promises';
import { oneModel } from '../daemons.js';
import { exchange, listen, PATIENCE, repeat, sendRequest } from '../wire.js';
import { mutate } from '../random.js';

const good = (body) =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const probeAnswer = (id) => `{"object":"probe","model":null,"id":"${id}"}`;

/** Returns whether a text is a complete request. */
function isWhole(text) {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  if (/^transfer-encoding: chunked$/im.test(text.slice(0, end))) return text.endsWith('\r\n0\r\n\r\n');
  return text.length >= end + 4 + Number(/^content-length: (\d+)$/im.exec(text.slice(0, end))?.[1] ?? 0);
}

/**
 * Returns the shared proxy, in front of an upstream. The upstream calls `answers.get(N)` with the socket of a request
 * that contains `hostile-N-`, and answers requests with `probe-N-` correctly.
 */
const withUpstream = (arena) =>
  arena.share('hostile upstream', async () => {
    const answers = new Map();
    const server = await listen((socket) => {
      let text = '';
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1');
        const [, kind, id] = /(hostile|probe)-(\d+)-/.exec(text) ?? [];
        if (kind === undefined || !isWhole(text)) return;
        text = '';
        if (kind === 'probe') socket.write(good(probeAnswer(id)));
        else answers.get(id)?.(socket);
      });
    });
    const daemon = await arena.startProxy(oneModel(server.port, ', use_in_pass_through: true'));
    return { daemon, answers, close: server.close };
  });

const length = (text) => `content-length: ${Buffer.byteLength(text)}\r\n`;
const post = (path, body, more = '') =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n${more}${length(body)}\r\n${body}`;
const chat = (id, more = '') =>
  post('/v1/chat/completions', `{"model":"m","messages":[{"role":"user","content":"${id}"}]${more}}`);
const form = (id) => {
  const parts =
    `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n${id}\r\n` +
    `--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n${'s'.repeat(2000)}\r\n--b--\r\n`;
  return post('/v1/audio/transcriptions', parts).replace('application/json', 'multipart/form-data; boundary=b');
};
const raw = (id, method = 'GET') => `${method} /openai/v1/${id} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
const handshake = 'upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

/** The kinds of requests to an upstream. */
const requestKinds = {
  model: (id) => chat(id),
  stream: (id) => chat(id, ',"stream":true'),
  form,
  raw: (id) => raw(id),
  'raw HEAD': (id) => raw(id, 'HEAD'),
  WebSocket: (id) =>
    raw(`realtime?model=m&x=${id}`)
      .replace('connection: close', `connection: Upgrade`)
      .replace('\r\n\r\n', `\r\n${handshake}\r\n`),
};

/** Maximum size of a head that the proxy may send to a client. Node's clients reject heads of 16 KiB and more. */
const MAX_HEAD_BYTES = 8192;

/**
 * Sends a request that the upstream answers with `serve`, and then a probe.
 * @param way one of `requestKinds`.
 * @throws {Error} if the first client gets neither a valid answer nor a close, or the probe does not get its answer.
 */
async function tryAnswer({ daemon, answers }, id, way, serve) {
  answers.set(String(id), serve);
  const isUpgraded = (text) => way === 'WebSocket' && text.includes('\r\n\r\n');
  const { text, isClosed } = await exchange(daemon.port, requestKinds[way](`hostile-${id}-`), { until: isUpgraded });
  answers.delete(String(id));
  if (!isClosed && !isUpgraded(text))
    throw new Error(`${way}: no end within ${PATIENCE} s after ${JSON.stringify(text.slice(0, 200))}`);
  const end = text.indexOf('\r\n\r\n');
  const isAnswer = /^HTTP\/1\.1 (101|[2-5]\d\d) /.test(text) && end <= MAX_HEAD_BYTES;
  if (text !== '' && !isAnswer)
    throw new Error(`${way}: the client got ${JSON.stringify(text.slice(0, 200))}, a head of ${end} bytes`);
  const probe = await exchange(daemon.port, chat(`probe-${id}-`));
  if (!probe.text.endsWith(probeAnswer(id))) throw new Error(`${way}: the next client got ${probe.text.slice(0, 300)}`);
}

/**
 * The rest of status lines after `HTTP/1.1 `. Some of these lines are valid, but their answer has no body (204, 304) or
 * is not the final one (1xx).
 */
const statusLines = [
  ...[
    '000 X',
    '099 X',
    '100 X',
    '101 X',
    '199 X',
    '204 X',
    '304 X',
    '600 X',
    '999 X',
    '1000 X',
    '200 \x01',
    '200 caf\xe9',
    '-1 X',
    ' X',
  ],
];

const statusAttack = {
  name: 'invalid and unusual status lines of an upstream',
  expected:
    'the process lives; a client gets an answer with a valid status and a short head, or a close; the next client gets its own answer',
  seconds: 90,
  run: async (arena) => {
    const upstream = await withUpstream(arena);
    let id = 1;
    for (const status of statusLines) {
      for (const way of Object.keys(requestKinds)) {
        const head = arena.random.oneIn(2) ? '' : 'upgrade: h2c\r\nconnection: Upgrade\r\ncontent-length: 0\r\n';
        await tryAnswer(upstream, (id += 1), way, (socket) =>
          socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n`, 'latin1'),
        );
      }
    }
  },
};

const chatAnswer =
  '{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"content":"hi"}}]}';
const chunked = (text) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
const seeds = [
  good(chatAnswer),
  `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${chunked(`data: ${chatAnswer}\n\ndata: [DONE]\n\n`)}`,
  `HTTP/1.1 429 No\r\nretry-after: 1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunked('{"error":{"message":"no","code":429}}')}`,
  'HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n\x81\x02hi',
  'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello',
  'HTTP/1.0 200 OK\r\ncontent-type: application/json\r\nset-cookie: a=b\r\n__proto__: 1\r\n\r\n{"a":1}',
];

const mutationAttack = {
  name: 'mutated answers of an upstream to every kind of request',
  expected:
    'the process lives; a client gets an answer with a valid status and a short head, or a close; the next client gets its own answer',
  seconds: 90,
  run: async (arena) => {
    const upstream = await withUpstream(arena);
    const one = (id) => {
      const bytes = mutate(arena.random.pick(seeds), arena.random);
      const way = arena.random.pick(Object.keys(requestKinds));
      return tryAnswer(upstream, id, way, (socket) => socket.end(bytes)).catch((error) => {
        throw new Error(
          `${error.message}; the upstream sent ${JSON.stringify(bytes.toString('latin1').slice(0, 400))}`,
          { cause: error },
        );
      });
    };
    await upstream.daemon.attackWhileServing(20, async () => {
      for (let round = 0; round < arena.rounds(40, 10_000); round += 1) {
        await Promise.all(Array.from({ length: 8 }, (_, index) => one(10_000 + round * 8 + index)));
      }
    });
  },
};

const headers = (count, size) =>
  Array.from({ length: count }, (_, index) => `x-${index}: ${'x'.repeat(size)}\r\n`).join('');
const floods = {
  '60 KB in one header': headers(1, 60_000),
  '1,000 headers': headers(1000, 10),
  '60 headers of 1 KB': headers(60, 1000),
  'a content type of 30 KB': `content-type: application/${'x'.repeat(30_000)}\r\n`,
  'a reason of 5 KB': '',
};
const floodAttack = {
  name: 'floods of headers, and 5,000 early hints, from an upstream',
  expected: `no client gets a head of more than ${MAX_HEAD_BYTES} bytes, and the next client gets its own answer`,
  seconds: 90,
  run: async (arena) => {
    const upstream = await withUpstream(arena);
    let id = 1000;
    for (const way of Object.keys(requestKinds)) {
      for (const [name, text] of Object.entries(floods)) {
        const reason = name.includes('reason') ? 'x'.repeat(5000) : 'OK';
        await tryAnswer(upstream, (id += 1), way, (socket) =>
          socket.end(`HTTP/1.1 200 ${reason}\r\n${text}content-length: 2\r\n\r\n{}`),
        );
      }
      await tryAnswer(upstream, (id += 1), way, (socket) => socket.end('HTTP/1.1 103 X\r\n\r\n'.repeat(5000)));
    }
  },
};

const emptyAttack = {
  name: '200 of an upstream with an empty body, a page, or other bodies that are not JSON',
  expected: 'each client gets a 5xx',
  seconds: 60,
  run: async (arena) => {
    const { daemon, answers } = await withUpstream(arena);
    for (const [index, body] of ['', '<html>Sign in</html>', '{"choices":[', 'not json', '12 of', '\0\0\0'].entries()) {
      const id = 2000 + index;
      answers.set(String(id), (socket) =>
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${length(body)}connection: close\r\n\r\n${body}`,
        ),
      );
      const { text } = await exchange(daemon.port, requestKinds.model(`hostile-${id}-`));
      if (!/^HTTP\/1\.1 5\d\d /.test(text)) throw new Error(`${JSON.stringify(body)}: ${text.slice(0, 200)}`);
    }
  },
};

const lateAttack = {
  name: 'unsolicited second answers on reused connections',
  expected: 'no client gets the unsolicited answer',
  seconds: 60,
  run: async (arena) => {
    const upstream = await withUpstream(arena);
    const stolen = '{"object":"stolen","model":"m"}';
    for (let round = 0; round < arena.rounds(30, 2000); round += 1) {
      const wait = round % 3 === 0 ? 0 : arena.random.integer(20);
      const sent = new Promise((resolve) => {
        upstream.answers.set('3000', (socket) => {
          if (wait === 0) socket.write(good(chatAnswer) + good(stolen), resolve);
          else socket.write(good(chatAnswer), () => setTimeout(() => socket.write(good(stolen), resolve), wait));
        });
      });
      const way = arena.random.pick(['model', 'form', 'raw']);
      const first = await exchange(upstream.daemon.port, requestKinds[way]('hostile-3000-'));
      if (!first.text.includes('chat.completion')) throw new Error(`${way}: ${first.text.slice(0, 200)}`);
      // Waits until the second answer has arrived. If the second answer arrived after the next request, the proxy
      // could not distinguish it from the answer to the next request.
      await sent;
      await delay(20);
      const probes = await Promise.all(
        [chat('probe-1-'), raw('probe-1-'), form('probe-1-')].map((text) => exchange(upstream.daemon.port, text)),
      );
      const wrong = probes.find(({ text }) => text.includes('stolen'));
      if (wrong !== undefined)
        throw new Error(`${way}, ${wait} ms late: the next client got ${wrong.text.slice(0, 200)}`);
    }
  },
};

const silentAttack = {
  name: 'silent and slow upstreams',
  expected:
    'each request gets 408 or 504 within 40 s (the time limit of the proxy is 2 s), and GETs meanwhile take at most 20 s',
  seconds: 60,
  run: async (arena) => {
    const upstream = await withUpstream(arena);
    // One of two connections gets a head byte by byte, the other one gets nothing.
    let connections = 0;
    const silent = await listen((socket) => {
      socket.resume();
      if ((connections += 1) % 2 === 0) socket.write('HTTP/1.1 200 OK\r\nX: ', () => repeat(socket, 'x', 20));
    });
    const daemon = await arena.startProxy(oneModel(silent.port, ', request_timeout: 2, stream_timeout: 2'));
    try {
      const body = (stream) => ({
        method: 'POST',
        path: '/v1/chat/completions',
        body: { model: 'm', messages: [], stream },
      });
      const requests = Array.from({ length: arena.rounds(50, 500) }, (_, index) =>
        sendRequest(daemon.port, { ...body(index % 2 === 0), seconds: 40 }),
      );
      const settled = daemon.attackWhileServing(20, () => Promise.all(requests));
      settled.catch(() => undefined);
      const other = await exchange(upstream.daemon.port, chat('probe-5-'));
      if (!other.text.endsWith(probeAnswer(5))) throw new Error(`another proxy: ${other.text.slice(0, 200)}`);
      const received = new Set((await settled).map(({ status }) => status));
      if ([...received].some((status) => ![408, 504].includes(status)))
        throw new Error(`statuses ${[...received].join(', ')}`);
      const code = await daemon.stop();
      if (code !== 0) throw new Error(`SIGTERM: exit code ${code}`);
    } finally {
      silent.close();
    }
  },
};

export const upstreams = [statusAttack, mutationAttack, floodAttack, emptyAttack, lateAttack, silentAttack];
