/** Attacks by clients of the proxy: paths, bodies, keys, and slow or silent connections. */
import { setTimeout as delay } from 'node:timers/promises';
import { oneModel, UPSTREAM_KEY } from '../daemons.js';
import { exchange, firstStatus, listen, openMany } from '../wire.js';
import { mutate } from '../random.js';

const answer = '{"object":"chat.completion","model":"m","choices":[]}';

/** Returns the shared proxy with the key `sk-clients`. Its upstream adds the line of each request to `reached`. */
const withKey = (arena) =>
  arena.share('clients', async () => {
    const reached = [];
    const server = await listen((socket) =>
      socket.on('data', (bytes) => {
        const text = bytes.toString('latin1');
        if (/^[A-Z]+ \//.test(text)) reached.push(text.slice(0, text.indexOf('\r\n')));
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`,
        );
      }),
    );
    const settings = 'general_settings: {master_key: sk-clients}\n';
    const daemon = await arena.startProxy(oneModel(server.port, '', settings));
    return { daemon, reached, close: server.close };
  });

const key = { Authorization: 'Bearer sk-clients' };
const body = { model: 'm', messages: [], lora_name: 'x', lora_path: '/', training_file: 'x' };

/** Paths that the proxy does not serve. */
const unlisted = [
  ...['/v1/load_lora_adapter', '/v1/unload_lora_adapter', '/sleep', '/v1/sleep', '/wake_up', '/reset_prefix_cache'],
  ...['/collective_rpc', '/v1/fine_tuning/jobs', '/engines/m/sleep', '/openai/deployments/m/sleep', '/vllm/sleep'],
  ...[
    '/vllm/v1/load_lora_adapter',
    '/v1//sleep',
    '/v1/./sleep',
    '/v1/chat/../sleep',
    '/v1/chat/%2e%2e/sleep',
    '/v1%2fsleep',
  ],
  ...[
    '/vllm/v1/../sleep',
    '/vllm//sleep',
    '/V1/SLEEP',
    '/v1/sleep/',
    '/v1/sleep?x',
    '/v1/sleep;x',
    '/v1/chat/completions/../../sleep',
  ],
];

const pathAttack = {
  name: 'administrative paths of a model server, also in other spellings, with an existing model',
  expected: '4xx or 501, and nothing reaches the upstream',
  seconds: 60,
  run: async (arena) => {
    const { daemon, reached } = await withKey(arena);
    for (const path of unlisted) {
      const before = reached.length;
      const { status } = await daemon.request({ method: 'POST', path, body, headers: key });
      if (reached.length > before) throw new Error(`POST ${path}: ${status}, and the upstream got ${reached.at(-1)}`);
      if (status < 400 || (status >= 500 && status !== 501)) throw new Error(`POST ${path}: ${status}`);
    }
  },
};

const keyAttack = {
  name: 'requests without the key, or with another key',
  expected: 'each gets 401 without a key in the text, and nothing reaches the upstream',
  seconds: 60,
  run: async (arena) => {
    const { daemon, reached } = await withKey(arena);
    const before = reached.length;
    const headers = [
      {},
      { Authorization: 'Bearer' },
      { Authorization: 'Bearer sk-client' },
      { Authorization: 'Bearer sk-clientsx' },
    ];
    headers.push(
      { Authorization: `Bearer ${UPSTREAM_KEY}` },
      { Authorization: 'Basic c2stY2xpZW50cw==' },
      { 'x-api-key': 'x' },
      { 'api-key': '' },
    );
    for (const path of [
      '/v1/chat/completions',
      '/v1/embeddings',
      '/openai/v1/models',
      '/v1/models',
      '/model/info',
      '/v1/files',
      '/vllm/tokenize',
    ]) {
      for (const header of headers) {
        const { status, text } = await daemon.request({
          method: path.includes('model') ? 'GET' : 'POST',
          path,
          body: path.includes('model') ? undefined : body,
          headers: header,
        });
        if (status !== 401) throw new Error(`${path} with ${JSON.stringify(header)}: ${status}`);
        if (text.includes('sk-clients"') || text.includes(UPSTREAM_KEY))
          throw new Error(`${path}: the answer has a key`);
      }
    }
    if (reached.length > before) throw new Error(`the upstream got ${reached.at(-1)}`);
  },
};

const times = (text, count) => text.repeat(count);
const malformed = {
  'deep nesting': `{"model":"m","messages":${times('[', 100_000)}`,
  'deep nesting that ends': `{"model":"m","messages":${times('[', 2000)}${times(']', 2000)}}`,
  'two models': '{"model":"m","messages":[],"model":"n"}',
  'a second member, `Model`': '{"model":"m","Model":"n","messages":[]}',
  'a model that is not a string': '{"model":{"length":1,"toString":1},"messages":[]}',
  'an array': '["m"]',
  'a byte order mark': '\ufeff{"model":"m"}',
  'half of a body': '{"model":"m","messages":[{"role":"us',
  'more after a body': '{"model":"m","messages":[]}{"model":"n"}',
  '2,000 unknown names': `{"model":"m",${Array.from({ length: 2000 }, (_, index) => `"n${index}":1`).join(',')}}`,
  'invalid UTF-8': Buffer.from('{"model":"\xff\xfe"}', 'latin1'),
  'an empty body': '',
};

const bodyAttack = {
  name: 'malformed bodies of requests for a model',
  expected: '4xx, and nothing reaches the upstream',
  seconds: 60,
  run: async (arena) => {
    const { daemon, reached } = await withKey(arena);
    for (const [name, text] of Object.entries(malformed)) {
      const before = reached.length;
      const options = { method: 'POST', path: '/v1/chat/completions', body: text };
      const { status } = await daemon.request({ ...options, headers: { ...key, 'Content-Type': 'application/json' } });
      if (status < 400 || status >= 500) throw new Error(`${name}: ${status}`);
      if (reached.length > before) throw new Error(`${name}: it reached the upstream`);
    }
  },
};

const steeringAttack = {
  name: 'bodies and headers that choose an address or a key, and paths that contain an address',
  expected: 'the chosen address gets no connection',
  seconds: 60,
  run: async (arena) => {
    const { daemon } = await withKey(arena);
    let stolenConnections = 0;
    const trap = await listen((socket) => {
      stolenConnections += 1;
      socket.destroy();
    });
    const url = `http://127.0.0.1:${trap.port}/v1`;
    const steering = {
      api_base: url,
      base_url: url,
      api_key: 'x',
      headers: { host: `127.0.0.1:${trap.port}` },
      metadata: { api_base: url },
      litellm_params: { api_base: url },
      user_config: { api_base: url },
      extra_body: { api_base: url, model: 'n' },
      fallbacks: [{ model: 'n', api_base: url }],
    };
    try {
      for (const [name, value] of Object.entries(steering)) {
        await daemon.request({
          method: 'POST',
          path: '/v1/chat/completions',
          body: { ...body, [name]: value },
          headers: key,
        });
      }
      const more = {
        Host: `127.0.0.1:${trap.port}`,
        'x-litellm-api-base': url,
        'x-forwarded-host': `127.0.0.1:${trap.port}`,
      };
      await daemon.request({ method: 'POST', path: '/v1/chat/completions', body, headers: { ...key, ...more } });
      for (const path of [
        `http://127.0.0.1:${trap.port}/v1/models`,
        `/openai/${url}/x`,
        `/openai/@127.0.0.1:${trap.port}/`,
        `/openai//127.0.0.1:${trap.port}/`,
      ]) {
        await exchange(
          daemon.port,
          `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-clients\r\nConnection: close\r\n\r\n`,
        );
      }
    } finally {
      trap.close();
    }
    if (stolenConnections > 0)
      throw new Error(`the address that the client chose got ${stolenConnections} connections`);
  },
};

const mutatedRequests = {
  name: 'mutated requests of clients',
  expected: 'no answer with 500, and GETs meanwhile take at most 20 s',
  seconds: 60,
  run: async (arena) => {
    const { daemon } = await withKey(arena);
    const text = JSON.stringify(body);
    const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-clients\r\nConnection: close\r\n`;
    const parts =
      '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--\r\n';
    const requests = [
      `POST /v1/chat/completions ${head}Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
      `POST /v1/chat/completions ${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
      `POST /v1/audio/transcriptions ${head}Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${parts.length}\r\n\r\n${parts}`,
      `GET /openai/v1/models?x=y ${head}Accept: */*\r\n\r\n`,
      `GET /v1/realtime?model=m ${head.replace('close', 'Upgrade')}Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    ];
    const one = async () => {
      const bytes = mutate(arena.random.pick(requests), arena.random);
      const { text: answer } = await exchange(daemon.port, bytes, {
        seconds: 0.5,
        until: (got) => got.includes('\r\n\r\n'),
      });
      // Allows 502: the upstream may have closed its connection after a strange request.
      if (firstStatus(answer) === 500) throw new Error(`500 for ${JSON.stringify(bytes.toString('latin1'))}`);
    };
    await daemon.attackWhileServing(20, async () => {
      for (let left = arena.rounds(10, 1500); left > 0; left -= 1) await Promise.all(Array.from({ length: 20 }, one));
    });
  },
};

/**
 * Makes an attack that opens connections for a while, during the requests of another client.
 * @param count the number of connections; a long run opens twice as many.
 * @param bytes sent by each connection.
 */
const crowd = (name, count, bytes) => ({
  name,
  expected: 'GETs meanwhile take at most 30 s',
  seconds: 60,
  run: async (arena) => {
    const { daemon } = await withKey(arena);
    const end = await openMany(daemon.port, arena.isLong ? count * 2 : count, bytes);
    try {
      await daemon.attackWhileServing(30, () => delay(arena.rounds(2000, 20_000)));
    } finally {
      end();
    }
  },
});

const chatHead =
  'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-clients\r\nContent-Type: application/json\r\n';

export const clients = [
  pathAttack,
  keyAttack,
  bodyAttack,
  steeringAttack,
  mutatedRequests,
  crowd('at least 2,000 connections that send nothing to the proxy', 2000, ''),
  crowd(
    'at least 500 clients that send only a part of a body',
    500,
    `${chatHead}Content-Length: 100000\r\n\r\n{"model":"m","messages":[`,
  ),
  crowd(
    'at least 40 clients that do not read their answers',
    40,
    `${chatHead}Content-Length: 27\r\n\r\n{"model":"m","messages":[]}`.repeat(20),
  ),
];
