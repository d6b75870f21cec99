/** Attacks on the proxy's configuration: mistakes, unsupported settings, hostile files, and names that forge lines. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { oneModel, validate } from '../daemons.js';
import { exchange, listen, PATIENCE } from '../wire.js';

/** Model, key, and the address of the vendor that the name identifies; null: none, so the entry must not be served. */
const guessedKeys = [
  ['claude-opus-4-1', 'sk-ant', 'https://api.anthropic.com/v1'],
  ['gemini-2.5-pro', 'x', null],
  ['mistral-large', 'x', null],
  ['command-r-plus', 'x', 'https://api.cohere.ai/compatibility/v1'],
  ['"*"', 'x', null],
];

const vendorAttack = {
  name: 'models without a provider, with a key of a vendor',
  expected:
    'a key goes only to the vendor that the name identifies; otherwise the file is rejected, or the entry is not served',
  seconds: 90,
  run: async (arena) => {
    const { tree } = arena;
    for (const [model, key, address] of guessedKeys) {
      const text = `model_list: [{model_name: a, litellm_params: {model: ${model}, api_key: ${key}}}]\n`;
      const { output } = await validate(tree, text, { OPENAI_API_KEY: 'sk-openai' });
      const served = [...output.matchAll(/^\s+api_base: "(.*)"$/gm)].map(([, base]) => base);
      const isExplained = /is not served by this entry|does not identify the provider|provider of this key/.test(
        output,
      );
      const isExpected = address === null ? isExplained && served.length === 0 : String(served) === address;
      if (!isExpected) throw new Error(`${model}: ${output.slice(0, 300)}`);
    }
  },
};

const restricting = [
  'general_settings: {enable_jwt_auth: true}',
  'general_settings: {max_end_user_budget: 1}',
  'general_settings: {master_kye: x}',
  'general_settings: {allowed_routes: []}',
  'litellm_settings: {max_budget: 0}',
  'litellm_settings: {master_key: x}',
  'litellm_settings: {callbacks: [hide_secrets]}',
  'router_settings: {provider_budget_config: {openai: {budget_limit: 1}}}',
  'guardrails: [{guardrail_name: g, litellm_params: {default_on: true}}]',
];

const settingsAttack = {
  name: 'settings that restrict access, but are not implemented, misspelled or in the wrong place (a short run: 6 of them)',
  expected: 'with each, --validate_config fails, and names a line of the file',
  seconds: 90,
  run: async (arena) => {
    const chosen = arena.isLong ? restricting : arena.random.shuffle(restricting).slice(0, 6);
    for (const more of chosen) {
      const { status, output } = await validate(arena.tree, oneModel(9, '', `${more}\n`));
      if (status === 0 || !/config\.yaml:\d+: \w/.test(output))
        throw new Error(`${more}: exit code ${status}: ${output.slice(0, 300)}`);
    }
  },
};

const reloadAttack = {
  name: 'reloads of files without models, of damaged files and of random bytes',
  expected:
    'the log says that the old configuration stays, its model stays, and SIGTERM ends the proxy with exit code 0',
  seconds: 90,
  run: async (arena) => {
    const good = oneModel(9);
    const daemon = await arena.startProxy(good);
    const files = {
      'a misspelled model_list': good.replace('model_list', 'model_lits'),
      'an empty list': 'model_list: []\n',
      'models that cannot be served': 'model_list: [{model_name: m, litellm_params: {model: humanloop/x}}]\n',
      'half of the file': good.slice(0, 60),
      'an empty file': '',
      'random bytes': arena.random.bytes(500),
      'aliases that grow': `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
        .split('')
        .map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]},`.repeat(9)}]\n`)
        .join('')}`,
    };
    let reports = 0;
    for (const [what, text] of Object.entries(files)) {
      writeFileSync(daemon.file, text);
      daemon.signal('SIGHUP');
      reports += 1;
      for (
        const end = Date.now() + PATIENCE * 1000;
        daemon.output.split('the old one stays').length <= reports;
        await delay(20)
      ) {
        if (!daemon.isAlive) throw new Error(`${what}: the process ended: ${daemon.output.slice(-300)}`);
        if (Date.now() > end)
          throw new Error(
            `${what}: the log does not say that the old configuration stays: ${daemon.output.slice(-500)}`,
          );
      }
      reports = daemon.output.split('the old one stays').length - 1;
      const { json } = await daemon.request({ path: '/v1/models' });
      if (json?.data?.length !== 1) throw new Error(`${what}: ${json?.data?.length} models are left`);
    }
    const code = await daemon.stop();
    if (code !== 0) throw new Error(`SIGTERM: exit code ${code}`);
  },
};

/**
 * Texts that older versions read slowly, some for minutes: for example misspelled names, merges of large mappings,
 * and lines that each need a correction.
 */
const longReads = () => {
  const many = (count, line) => Array.from({ length: count }, (_, index) => line(index)).join('');
  return {
    '10,000 misspelled entries': `model_list:\n${many(10_000, (index) => `  - {model_name: m, litellm_params: {mdel_${index}: x}}\n`)}`,
    '2,000 merges of 100,000 members': `a: &a {${many(100_000, (index) => `k${index}: 1, `)}}\n${many(2000, (index) => `b${index}: {<<: *a}\n`)}`,
    'a name of 8 MB': `${'k'.repeat(8_000_000)}: 1\n`,
    '30,000 lines without indentation in braces': `a: {\n${many(30_000, (index) => `k${index}: 1,\n`)}}\n`,
    'a million lines': `a:\n${'- x\n'.repeat(1_000_000)}`,
    '7 million comments': '#\n'.repeat(7_000_000),
    'the same name 50,000 times': 'a: 1\n'.repeat(50_000),
    'an invalid number of a million digits': `a: !!float ${'1'.repeat(1_000_000)}x\n`,
  };
};

const longReadAttack = {
  name: 'configurations that take long to read: misspelled entries, merges, long names, corrections',
  expected: 'the log says that the old configuration stays, its model stays, and GETs meanwhile take at most 20 s',
  seconds: 120,
  run: async (arena) => {
    const daemon = await arena.startProxy(oneModel(9));
    for (const [what, text] of Object.entries(longReads())) {
      const reports = daemon.output.split('the old one stays').length;
      await daemon.attackWhileServing(20, async () => {
        writeFileSync(daemon.file, text);
        daemon.signal('SIGHUP');
        await until(
          () => daemon.output.split('the old one stays').length > reports,
          `${what}: the log does not say that the old configuration stays`,
        );
      });
      const { json } = await daemon.request({ path: '/v1/models' });
      if (json?.data?.length !== 1) throw new Error(`${what}: ${json?.data?.length} models are left`);
    }
  },
};

/** Replacements of the configuration file while streams run. */
const replacements = {
  'a folder': (file) => mkdirSync(file),
  'a pipe without a writer': (file) => execFileSync('mkfifo', [file]),
  'an endless device': (file) => symlinkSync('/dev/zero', file),
  'a link to itself': (file) => symlinkSync(file, file),
  '75 MB': (file) => writeFileSync(file, 'model_list: []\n'.repeat(5_000_000)),
  '2 MB of one line': (file) => writeFileSync(file, `a: ${'['.repeat(2_000_000)}`),
  'no file': () => undefined,
};

/** Starts an upstream that sends an event of each stream every 50 ms. Its function `end` completes the streams. */
const streamingUpstream = async () => {
  const sockets = new Set();
  const event = 'data: {"model":"m","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n';
  const chunked = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const server = await listen((socket) =>
    socket.once('data', () => {
      sockets.add(socket);
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
    }),
  );
  const timer = setInterval(() => {
    for (const socket of sockets) socket.write(chunked(event));
  }, 50);
  return {
    ...server,
    end: () => {
      clearInterval(timer);
      for (const socket of sockets) socket.write(`${chunked('data: [DONE]\n\n')}0\r\n\r\n`);
    },
  };
};

const trafficAttack = {
  name: '200 streams, while the configuration becomes a folder, a pipe, a device, a file of 75 MB, and no file',
  expected:
    'the old model stays until a valid file replaces it, every stream is complete, GETs meanwhile take at most 20 s, and SIGTERM ends the proxy with exit code 0',
  seconds: 120,
  run: async (arena) => {
    const upstream = await streamingUpstream();
    const good = oneModel(upstream.port);
    const daemon = await arena.startProxy(good);
    const body = '{"model":"m","messages":[],"stream":true}';
    const bytes = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    try {
      const streams = Array.from({ length: 200 }, () => exchange(daemon.port, bytes, { seconds: 110 }));
      await daemon.attackWhileServing(20, async () => {
        for (const [what, make] of Object.entries(replacements)) {
          rmSync(daemon.file, { recursive: true, force: true });
          make(daemon.file);
          const reports = daemon.output.split('the old one stays').length;
          daemon.signal('SIGHUP');
          await until(
            () => daemon.output.split('the old one stays').length > reports,
            `${what}: the log does not say that the old configuration stays`,
          );
          const { json } = await daemon.request({ path: '/v1/models' });
          if (json?.data?.length !== 1) throw new Error(`${what}: ${json?.data?.length} models are left`);
        }
        rmSync(daemon.file, { recursive: true, force: true });
        writeFileSync(daemon.file, good.replace('model_name: m', 'model_name: n'));
        daemon.signal('SIGHUP');
        await daemon.waitForOutput(/configuration reloaded/);
      });
      upstream.end();
      for (const { text } of await Promise.all(streams)) {
        if (!text.startsWith('HTTP/1.1 200') || !text.includes('data: [DONE]') || text.includes('"error"'))
          throw new Error(`a stream: ${text.slice(0, 200)} … ${text.slice(-200)}`);
      }
      const code = await daemon.stop();
      if (code !== 0) throw new Error(`SIGTERM: exit code ${code}`);
    } finally {
      upstream.close();
    }
  },
};

const escape = '\x1b[31m\nforged line\r\u202e';
const namesAttack = {
  name: '1,000 models, and at least 250 rounds of requests with escapes, line ends and U+202E in names, paths and users',
  expected:
    'the metrics get at most 50 lines more, memory grows by at most 150 MiB, neither metrics nor log have an escape or a forged line, and SIGTERM ends the proxy with exit code 0',
  seconds: 120,
  run: async (arena) => {
    const server = await listen((socket) =>
      socket.on('data', () => socket.write('HTTP/1.1 400 No\r\ncontent-length: 0\r\n\r\n')),
    );
    const one = (name) =>
      `  - {model_name: ${JSON.stringify(name)}, litellm_params: {model: openai/m, api_base: "http://127.0.0.1:${server.port}/v1", api_key: k}}\n`;
    const models = Array.from({ length: 1000 }, (_, index) => one(`m${index}`));
    const text = `model_list:\n${models.join('')}${one('any/*')}${one(`hostile ${escape} {}"`)}`;
    const daemon = await arena.startProxy(text, { env: { JSON_LOGS: 'false' } });
    try {
      const metrics = async () => (await daemon.request({ path: '/metrics' })).text;
      const sendHostileNames = (index) => {
        const name = `any/${index}${escape}`;
        const headers = { 'x-request-id': `id ${index}`, 'x-litellm-call-id': 'x'.repeat(1000) };
        const body = { model: index % 2 === 0 ? name : `none-${name}`, messages: [], user: `${escape}${index}` };
        return Promise.all([
          daemon.request({ method: 'POST', path: '/v1/chat/completions', body, headers }),
          daemon.request({ path: `/${index}%1b%0aforged/${'x'.repeat(index)}` }),
          daemon.request({ path: `/v1/models/any%2f${index}%1b%0aforged` }),
          daemon.request({ method: 'POST', path: `/engines/any%2f${index}/chat/completions`, body }),
        ]);
      };
      const rounds = arena.rounds(250, 5000);
      for (let index = 0; index < 10; index += 1) await sendHostileNames(index);
      const before = await metrics();
      const memoryBefore = daemon.memoryMiB();
      for (let index = 10; index < rounds; index += 10)
        await Promise.all(Array.from({ length: 10 }, (_, at) => sendHostileNames(index + at)));
      const after = await metrics();
      const grown = after.split('\n').length - before.split('\n').length;
      if (grown > 50) throw new Error(`the metrics have ${grown} lines more`);
      const grownMiB = daemon.memoryMiB() - memoryBefore;
      if (grownMiB > 150) throw new Error(`memory grew by ${grownMiB.toFixed(0)} MiB`);
      if (after.includes('\x1b') || /^forged/m.test(after)) throw new Error('the metrics have a forged line');
      const code = await daemon.stop();
      if (code !== 0) throw new Error(`SIGTERM: exit code ${code}`);
      if (daemon.output.includes('\x1b') || daemon.output.includes('\u202e') || /^forged/m.test(daemon.output))
        throw new Error('the log has a forged line');
    } finally {
      server.close();
    }
  },
};

/**
 * Waits until `holds` returns true.
 * @throws {Error} with the message `otherwise` if this takes more than {@link PATIENCE}.
 */
async function until(holds, otherwise) {
  for (const end = Date.now() + PATIENCE * 1000; !holds(); await delay(20))
    if (Date.now() > end) throw new Error(otherwise);
}

export const configurations = [vendorAttack, settingsAttack, reloadAttack, longReadAttack, trafficAttack, namesAttack];
