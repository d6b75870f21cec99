/**
 * Measures parsing in microseconds per body: the scanner, the body for the upstream, and the
 * renamed model in the answer, each against `JSON.parse` and `JSON.stringify` of the same text. All
 * take turns within a round, so that a busy host slows them alike. The best round counts.
 *
 *     npm run bench:json -w @rackless/model-proxy [-- --rounds N]
 */
import { parseArgs } from 'node:util';
import { rewriteAnswer } from '../src/json/rewrite-answer.js';
import { JsonObjectScanner } from '../src/json/scanner.js';
import type { Deployment } from '../src/providers/deployment.js';
import { findProvider } from '../src/providers/index.js';
import { prepareRequestBody } from '../src/providers/request-body.js';
import { makeDeployment } from '../test/support/deployment.js';

const { values: flags } = parseArgs({ options: { rounds: { type: 'string', default: '30' } } });
const rounds = Number(flags.rounds);
/** The size of a chunk from a socket. */
const CHUNK_BYTES = 65_536;

function deployment(provider: string): Deployment {
  return makeDeployment({ provider: findProvider(provider), upstreamModel: 'gpt-oss-120b', dropParams: true });
}

const words =
  'The quick brown fox says "why not?" and jumps over the lazy dog.\nThen it sleeps – for an hour or two – below a tree. '.repeat(
    80,
  );
const text = (characters: number): string => words.repeat(Math.ceil(characters / words.length)).slice(0, characters);
const chat = (count: number, characters: number): string =>
  JSON.stringify({
    model: 'public',
    messages: Array.from({ length: count }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: text(characters),
    })),
    temperature: 0,
    max_tokens: 512,
    stream: false,
  });
const image = JSON.stringify({
  model: 'public',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: text(200) },
        {
          type: 'image_url',
          image_url: { url: `data:image/png;base64,${Buffer.alloc(7_500_000, 'image data').toString('base64')}` },
        },
      ],
    },
  ],
});
const tokens = JSON.stringify({
  model: 'public',
  input: Array.from({ length: 40_000 }, (_, index) => (index * 7919) % 100_000),
});
const cyrillic = `{"model":"public","messages":[{"role":"user","content":"${'\\u0416\\u0438\\u0437\\u043d\\u044c '.repeat(6450)}"}]}`;
const answer = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'gpt-oss-120b',
  choices: [{ index: 0, message: { role: 'assistant', content: text(700), tool_calls: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
});
const vectors = (order: 'first' | 'last'): string => {
  const data = Array.from({ length: 600 }, (_, index) => ({
    object: 'embedding',
    index,
    embedding: Array.from({ length: 768 }, (_, place) => Math.sin(index + place)),
  }));
  return JSON.stringify(order === 'first' ? { model: 'm', data } : { data, model: 'm' });
};

function cut(body: string): Buffer[] {
  const bytes = Buffer.from(body);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) chunks.push(Buffer.from(bytes.subarray(at, at + CHUNK_BYTES)));
  return chunks;
}

function scan(chunks: readonly Buffer[]) {
  const scanner = new JsonObjectScanner();
  for (const chunk of chunks) scanner.push(chunk);
  return scanner.finish();
}

/** Parses, changes the model, and serializes, as other proxies do. */
function reparse(chunks: readonly Buffer[]): number {
  const value = JSON.parse(Buffer.concat(chunks).toString()) as { model: string };
  value.model = 'gpt-oss-120b';
  return Buffer.from(JSON.stringify(value)).length;
}

/** Uses the results, so that V8 does not remove the work. */
let sink = 0;

interface Case {
  readonly name: string;
  readonly body: string;
  readonly ours: Readonly<Record<string, (chunks: readonly Buffer[]) => number>>;
}

const prepare = (provider: string) => {
  const target = deployment(provider);
  const options = {
    endpoint: { path: 'chat/completions' },
    deployment: target,
    upstreamModel: 'gpt-oss-120b',
    alwaysIncludeStreamUsage: false,
    translated: null,
  };
  return (chunks: readonly Buffer[]) => {
    const prepared = prepareRequestBody(scan(chunks), options);
    return Array.isArray(prepared) ? prepared.length : 1;
  };
};
const request = {
  scan: (chunks: readonly Buffer[]) => scan(chunks).members.length,
  'scan + prepare, openai': prepare('openai'),
  'scan + prepare, hosted_vllm': prepare('hosted_vllm'),
};
const nullable = { answer: ['service_tier'], choice: ['stop_reason'], message: ['function_call'], usage: ['details'] };
const rename = (fill: boolean) => (chunks: readonly Buffer[]) =>
  rewriteAnswer(chunks, {
    modelPaths: [['model']],
    model: (reported) => `hosted_vllm/${reported}`,
    nullable: fill ? nullable : null,
  }).length;

const cases: readonly Case[] = [
  { name: 'request of 1 KB', body: chat(1, 900), ours: request },
  { name: 'request of 200 KB, 400 messages', body: chat(400, 460), ours: request },
  { name: 'request of 200 KB, 1 message', body: chat(1, 195_000), ours: request },
  { name: 'request of 200 KB, \\u0416 as Python sends it', body: cyrillic, ours: { scan: request.scan } },
  { name: 'request of 200 KB, token numbers', body: tokens, ours: { scan: request.scan } },
  { name: 'request of 10 MB, an image', body: image, ours: request },
  { name: 'answer of 1 KB', body: answer, ours: { rename: rename(false), 'rename + fill': rename(true) } },
  { name: 'answer of 9 MB, model first', body: vectors('first'), ours: { rename: rename(false) } },
  { name: 'answer of 9 MB, model last', body: vectors('last'), ours: { rename: rename(false) } },
];

/** Returns microseconds per call, over enough calls for a stable value. */
function measure(work: (chunks: readonly Buffer[]) => number, chunks: readonly Buffer[], calls: number): number {
  const start = process.hrtime.bigint();
  for (let call = 0; call < calls; call++) sink += work(chunks);
  return Number(process.hrtime.bigint() - start) / 1000 / calls;
}

for (const { name, body, ours } of cases) {
  const chunks = cut(body);
  const works = [['parse + stringify', reparse] as const, ...Object.entries(ours)];
  const calls = Math.max(1, Math.round(2_000_000 / body.length));
  const best = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    for (const [label, work] of works) {
      best.set(label, Math.min(best.get(label) ?? Infinity, measure(work, chunks, calls)));
    }
  }
  const parsed = best.get('parse + stringify') ?? NaN;
  console.log(`${name} (${body.length} bytes)`);
  for (const [label, us] of best) {
    console.log(`  ${label.padEnd(30)} ${us.toFixed(us < 100 ? 2 : 0).padStart(8)} us  1/${(parsed / us).toFixed(1)}`);
  }
}
if (sink === 0) throw new Error('nothing was done');
