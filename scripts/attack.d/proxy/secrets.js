/**
 * Attacks on the key of an upstream: the upstream repeats the key in texts of errors, in answers with status 200, and
 * in headers.
 */
import { oneModel, UPSTREAM_KEY } from '../daemons.js';
import { exchange, listen } from '../wire.js';

const escaped = UPSTREAM_KEY.replace('k', '\\u006b');
/** The first 9 characters of the key, plain and escaped. */
const beginnings = [UPSTREAM_KEY.slice(0, 9), escaped.slice(0, 14)];
const errors = {
  message: `{"error":{"message":"Incorrect API key provided: ${UPSTREAM_KEY}. You can find"}}`,
  'an escaped message': `{"error":{"message":"Incorrect ${escaped}"}}`,
  code: `{"error":{"message":"no","code":"${UPSTREAM_KEY}"}}`,
  'type and param': `{"error":{"message":"no","type":"a ${UPSTREAM_KEY}","param":"${UPSTREAM_KEY}"}}`,
  'a nested detail': `{"detail":[{"loc":["header"],"input":"Bearer ${UPSTREAM_KEY}"}]}`,
  'a page': `<html><title>No ${UPSTREAM_KEY}</title></html>`,
  'a message that is cut': `{"error":{"message":"${'x'.repeat(3985)}${UPSTREAM_KEY}"}}`,
};
const headers =
  `x-echo: Bearer ${UPSTREAM_KEY}\r\nretry-after: ${UPSTREAM_KEY}\r\nx-ratelimit-key: ${UPSTREAM_KEY}\r\n` +
  `content-disposition: ${UPSTREAM_KEY}\r\nlocation: /?key=${UPSTREAM_KEY}\r\nwww-authenticate: Bearer ${UPSTREAM_KEY}\r\n`;

const answer = (status, type, body, more = headers) =>
  `HTTP/1.1 ${status} X\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n${more}\r\n${body}`;
const good = '{"model":"m","choices":[]}';

/** Answers of the upstream. In a raw answer and in a WebSocket, only the head is protected. */
const answers = {
  ...Object.fromEntries(Object.entries(errors).map(([name, body]) => [name, answer(401, 'application/json', body)])),
  'headers of an error': answer(429, 'application/json', '{}'),
  'a redirect': answer(302, 'text/plain', ''),
  'headers of an answer': answer(200, 'application/json', good),
  'headers of a stream': answer(200, 'text/event-stream', 'data: [DONE]\n\n'),
  'headers of sound': answer(200, `audio/mpeg; key=${UPSTREAM_KEY}`, 'sound'),
  'an error in 200': answer(200, 'application/json', errors.code),
  'an error in a stream': answer(200, 'text/event-stream', `data: ${errors.message}\n\n`),
  'a page in 200': answer(200, 'text/html', errors['a page']),
  'a handshake': `HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: Upgrade\r\n${headers}\r\n`,
};

const body = '{"model":"m","messages":[]}';
const post = (path) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const handshake =
  'GET /v1/realtime?model=m HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const ways = {
  model: post('/v1/chat/completions'),
  raw: 'GET /openai/v1/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  WebSocket: handshake,
};

const echoAttack = {
  name: 'an upstream that repeats its key in errors and headers',
  expected:
    'no answer to a model request, and no head of a raw answer or a handshake, contains the beginning of the key; the log does not contain the key; SIGTERM ends the proxy with exit code 0',
  seconds: 60,
  run: async (arena) => {
    let currentAnswer = '';
    const server = await listen((socket) => socket.on('data', () => socket.end(currentAnswer)));
    const daemon = await arena.startProxy(oneModel(server.port, ', use_in_pass_through: true'));
    try {
      for (const [name, bytes] of Object.entries(answers)) {
        for (const [way, request] of Object.entries(ways)) {
          currentAnswer = bytes;
          const isUpgraded = (text) => way === 'WebSocket' && text.includes('\r\n\r\n');
          const { text } = await exchange(daemon.port, request, { until: isUpgraded });
          const shown = way === 'model' ? text : text.slice(0, text.indexOf('\r\n\r\n'));
          if (shown === '') throw new Error(`${name}, ${way}: no answer`);
          if (beginnings.some((text) => shown.includes(text)))
            throw new Error(`${name}, ${way}: ${shown.slice(0, 3000)}`);
        }
      }
      const code = await daemon.stop();
      if (code !== 0) throw new Error(`SIGTERM: exit code ${code}`);
      if (daemon.output.includes(UPSTREAM_KEY)) throw new Error('the log has the key');
    } finally {
      server.close();
    }
  },
};

export const secrets = [echoAttack];
