/**
 * Attacks by clients on HTTP: pipelining, handshakes, heads, expectations, codings, and slow or
 * idle TLS.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { makeFolder, oneModel } from '../daemons.js';
import { exchange, firstStatus, listen, statuses } from '../wire.js';

const answer = '{"object":"chat.completion","model":"m","choices":[]}';
const ok = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`;

/**
 * Returns the shared proxy, in front of an upstream that answers after 20 ms. `state` counts all requests and the
 * concurrent ones, and has the text of the last request.
 */
const withSlowUpstream = (arena) =>
  arena.share('connections', async () => {
    const state = { atOnce: 0, max: 0, requests: 0, last: '' };
    const server = await listen((socket) =>
      socket.on('data', (bytes) => {
        const text = bytes.toString('latin1');
        if (!/^[A-Z]+ \//.test(text)) return;
        state.last = text;
        state.requests += 1;
        state.atOnce += 1;
        state.max = Math.max(state.max, state.atOnce);
        setTimeout(() => {
          state.atOnce -= 1;
          socket.write(ok);
        }, 20);
      }),
    );
    const daemon = await arena.startProxy(oneModel(server.port, ', use_in_pass_through: true'));
    return { daemon, state, close: server.close };
  });

const body = '{"model":"m","messages":[]}';
const chat = (more = '', text = body) =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n${more}\r\n${text}`;

const pipelineAttack = {
  name: '60 chats, and then 400 chats on one connection at once',
  expected:
    'of 60 chats, one runs at a time and all get 200; of 400 chats, the proxy forwards and answers one at most, and closes the connection; GETs meanwhile take at most 20 s',
  seconds: 60,
  run: async (arena) => {
    const { daemon, state } = await withSlowUpstream(arena);
    for (const [count, maxAnswers] of [
      [60, 60],
      [400, 1],
    ]) {
      state.max = state.requests = 0;
      const end = count === maxAnswers ? chat('Connection: close\r\n') : chat();
      const { text, isClosed } = await daemon.attackWhileServing(20, () =>
        exchange(daemon.port, `${chat().repeat(count - 1)}${end}`),
      );
      const seen = statuses(text);
      const isExpectedCount = count > maxAnswers ? seen.length <= maxAnswers : seen.length === maxAnswers;
      if (!isClosed || !isExpectedCount || seen.some((status) => status !== 200))
        throw new Error(`${count} requests: ${seen.length} answers, closed: ${isClosed}: ${text.slice(-300)}`);
      if (state.max > 1 || state.requests > maxAnswers)
        throw new Error(`${count} requests: upstream, ${state.max} at once and ${state.requests} in all`);
    }
  },
};

const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const VERSION = 'Sec-WebSocket-Version: 13\r\n';
const handshakes = {
  'no key': VERSION,
  'no version': KEY,
  'another version': `${KEY}Sec-WebSocket-Version: 8\r\n`,
  'a short key': `${VERSION}Sec-WebSocket-Key: AAAA\r\n`,
  'two keys': `${VERSION}${KEY}${KEY}`,
  'a body': `${VERSION}${KEY}Content-Length: 5\r\n`,
  'a body in chunks': `${VERSION}${KEY}Transfer-Encoding: chunked\r\n`,
};

const handshakeAttack = {
  name: 'WebSocket handshakes with missing, wrong or extra parts',
  expected: '400 or 426, and nothing reaches the upstream',
  seconds: 60,
  run: async (arena) => {
    const { daemon, state } = await withSlowUpstream(arena);
    state.requests = 0;
    const head = (version) =>
      `GET /v1/realtime?model=m HTTP/${version}\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;
    const all = Object.entries(handshakes).map(([name, lines]) => [name, `${head('1.1')}${lines}\r\n`]);
    for (const [name, bytes] of [...all, ['HTTP/1.0', `${head('1.0')}${VERSION}${KEY}\r\n`]]) {
      const { text } = await exchange(daemon.port, bytes);
      if (![400, 426].includes(firstStatus(text)) || state.requests > 0)
        throw new Error(`${name}: ${text.slice(0, 100)}, ${state.requests} requests reached the upstream`);
    }
  },
};

const flood = (count, size) =>
  Array.from({ length: count }, (_, index) => `X-${index}: ${'x'.repeat(size)}\r\n`).join('');
const close = 'Connection: close\r\n';
const chunkedHead = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n${close}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n`;
const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
const gzipped = gzipSync(Buffer.alloc(20_000_000, ' ')).toString('latin1');
/** Bytes of a request, and the accepted statuses of the first answer. */
const requests = {
  '10,000 headers': [chat(`${close}${flood(10_000, 1)}`), [400, 431]],
  'a header of 1 MB': [chat(`${close}${flood(1, 1_000_000)}`), [431]],
  'a query of 1 MB': [`GET /v1/models?${'a=b&'.repeat(250_000)} HTTP/1.1\r\nHost: x\r\n${close}\r\n`, [414, 431]],
  'a query of 15 KB': [`GET /openai/v1/x?${'model=m&'.repeat(1900)} HTTP/1.1\r\nHost: x\r\n${close}\r\n`, [200]],
  'two lengths': [chat(`${close}Content-Length: 5\r\n`), [400]],
  'the same length twice': [chat(`${close}Content-Length: ${body.length}\r\n`), [200, 400]],
  'a length and chunks': [chat(`${close}Transfer-Encoding: chunked\r\n`), [400]],
  'two hosts': [chat(`${close}Host: y\r\n`), [400]],
  'a folded header': [chat(`${close}X: a\r\n b\r\n`), [200, 400]],
  trailers: [`${chunkedHead}\r\n${chunk}0\r\nHost: y\r\nAuthorization: z\r\n\r\n`, [200]],
  'trailers without end': [`${chunkedHead}\r\n${chunk}0\r\n${flood(20_000, 10)}\r\n`, [400, 431]],
  'a chunk extension of 1 MB': [`${chunkedHead}\r\n2;${'x'.repeat(1_000_000)}\r\n{}\r\n0\r\n\r\n`, [400, 413, 431]],
  'an expectation': [chat(`${close}Expect: 100-continue\r\n`), [100]],
  'another expectation': [chat(`${close}Expect: 200-ok\r\n`), [200, 417]],
  'an expectation with a body of 100 GB': [
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n`,
    [413],
  ],
  'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', [400, 501, 505]],
  'an offer of h2c': [
    chat(`${close.replace('close', 'Upgrade, HTTP2-Settings, close')}Upgrade: h2c\r\nHTTP2-Settings: AAMA\r\n`),
    [200],
  ],
  'a body in gzip': [chat(`${close}Content-Encoding: gzip\r\n`, gzipped), [415]],
  'an unknown coding': [chat(`${close}Transfer-Encoding: gzip\r\n`), [400, 501]],
  'a coding inside the chunks': [
    `POST /openai/v1/x HTTP/1.1\r\nHost: x\r\n${close}Transfer-Encoding: gzip, chunked\r\n\r\n${chunk}0\r\n\r\n`,
    [501],
  ],
  'HTTP/0.9': ['POST /openai/v1/x\r\n\r\n', [400]],
  'HTTP/0.9 with a Host header': ['GET /v1/models\r\nHost: x\r\n\r\n', [400]],
  'an asterisk': [`OPTIONS * HTTP/1.1\r\nHost: x\r\n${close}\r\n`, [200, 204, 400, 404, 405]],
};

const headAttack = {
  name: `${Object.keys(requests).length} odd requests: floods of headers, lengths, trailers, expectations, HTTP/2, gzip`,
  expected:
    'each gets one of its accepted statuses (or a close, if it has more than 100 KB), no trailer reaches the upstream, and the next client gets 200',
  seconds: 90,
  run: async (arena) => {
    const { daemon, state } = await withSlowUpstream(arena);
    for (const [name, [bytes, expected]] of Object.entries(requests)) {
      const { text, isClosed } = await exchange(daemon.port, bytes, { seconds: 20 });
      // If a server closes while the client sends, the answer may be lost. So a long request may get no
      // answer.
      if (text === '' && isClosed && bytes.length > 100_000) continue;
      if (!expected.includes(firstStatus(text))) throw new Error(`${name}: ${JSON.stringify(text.slice(0, 300))}`);
      if (/host: y|authorization: z/i.test(state.last)) throw new Error(`${name}: the trailer reached the upstream`);
      await daemon.check();
    }
  },
};

/**
 * Sends a body in tiny chunks, as fast as the daemon reads them.
 * @param first the first chunk.
 * @param piece chunks that this function sends repeatedly.
 * @param count how often it sends the piece, approximately.
 * @returns the socket. The body is incomplete.
 */
async function sendInTinyChunks(port, path, type, first, piece, count) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  const gone = once(socket, 'close').catch(() => undefined);
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n${first}`,
  );
  const bytes = piece.repeat(Math.ceil(60_000 / piece.length));
  for (let sent = 0; sent < count && !socket.destroyed; sent += 60_000 / piece.length) {
    if (!socket.write(bytes)) await Promise.race([once(socket, 'drain').catch(() => undefined), gone]);
  }
  return socket;
}

const singleBytesAttack = {
  name: 'bodies, forms and events in chunks of one byte, with a heap of 200 MB',
  expected: 'the stream gets an answer, GETs meanwhile take at most 30 s, and SIGTERM ends the proxy with exit code 0',
  seconds: 120,
  run: async (arena) => {
    const event =
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n6\r\ndata: \r\n';
    let sentChunks = 0;
    const server = await listen((socket) =>
      socket.once('data', () => {
        socket.write(event);
        const more = '1\r\nx\r\n'.repeat(10_000);
        const go = () => {
          while (socket.writable && sentChunks < arena.rounds(3_000_000, 18_000_000)) {
            sentChunks += 10_000;
            if (!socket.write(more)) return void socket.once('drain', go);
          }
          socket.end();
        };
        go();
      }),
    );
    const env = { NODE_OPTIONS: '--max-old-space-size=200' };
    const daemon = await arena.startProxy(oneModel(server.port, ', use_in_pass_through: true'), { env });
    try {
      await daemon.attackWhileServing(30, async () => {
        const form = '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n';
        const inBytes = Array.from(form, (byte) => `1\r\n${byte}\r\n`).join('');
        const sockets = [
          await sendInTinyChunks(
            daemon.port,
            '/v1/chat/completions',
            'application/json',
            '1\r\n{\r\n',
            '1\r\n \r\n',
            arena.rounds(1_000_000, 4_000_000),
          ),
          await sendInTinyChunks(daemon.port, '/v1/files', 'multipart/form-data; boundary=B', '', inBytes, 1300),
        ];
        const { text } = await exchange(daemon.port, chat(close, body.replace('[]', '[],"stream":true')));
        for (const socket of sockets) socket.destroy();
        if (firstStatus(text) === 0) throw new Error(`the stream: ${text.slice(0, 200)}`);
      });
      const code = await daemon.stop();
      if (code !== 0) throw new Error(`SIGTERM: exit code ${code}: ${daemon.output.slice(-300)}`);
    } finally {
      server.close();
    }
  },
};

/**
 * Makes a certificate for loopback.
 * @returns the paths of the certificate and its key.
 */
function selfSigned() {
  const folder = makeFolder();
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const subject = ['-subj', '/CN=localhost', '-days', '2', '-nodes'];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', key, '-out', cert, ...subject],
    { stdio: 'ignore' },
  );
  return { cert, key };
}

const tlsAttack = {
  name: '250 TLS handshakes that stop, 250 requests in plain HTTP, 300 idle TLS connections',
  expected: 'another client gets 200 over TLS within 30 s, and SIGTERM ends the proxy with exit code 0',
  seconds: 90,
  run: async (arena) => {
    const { cert, key } = selfSigned();
    const env = { SSL_CERTFILE_PATH: cert, SSL_KEYFILE_PATH: key };
    const daemon = await arena.startProxy(oneModel(9), { env });
    const sockets = [];
    const statusOfClient = () =>
      new Promise((resolve, reject) => {
        const socket = connectTls({ port: daemon.port, host: '127.0.0.1', rejectUnauthorized: false }, () =>
          socket.write(`GET /health/liveliness HTTP/1.1\r\nHost: x\r\n${close}\r\n`),
        );
        socket.setTimeout(30_000, () => socket.destroy(new Error('no answer within 30 s')));
        let text = '';
        socket.setEncoding('latin1').on('data', (piece) => (text += piece));
        socket.once('error', reject).once('close', () => resolve(firstStatus(text)));
      });
    try {
      // Half of the connections send the beginning of a ClientHello that announces 512 bytes. The other half
      // send plain HTTP.
      for (let opened = 0; opened < 500; opened += 1) {
        const socket = connect(daemon.port, '127.0.0.1').on('error', () => undefined);
        socket.write(opened % 2 === 0 ? Buffer.from([0x16, 3, 1, 2, 0, 1]) : 'GET / HTTP/1.1\r\n\r\n');
        sockets.push(socket);
      }
      for (let opened = 0; opened < 300; opened += 1)
        sockets.push(
          connectTls({ port: daemon.port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => undefined),
        );
      for (const end = Date.now() + arena.rounds(3000, 20_000); Date.now() < end; await delay(100)) {
        const status = await statusOfClient();
        if (status !== 200) throw new Error(`another client: ${status}`);
      }
      for (const socket of sockets) socket.destroy();
      const code = await daemon.stop();
      if (code !== 0) throw new Error(`SIGTERM: exit code ${code}`);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  },
};

export const connections = [pipelineAttack, handshakeAttack, headAttack, singleBytesAttack, tlsAttack];
