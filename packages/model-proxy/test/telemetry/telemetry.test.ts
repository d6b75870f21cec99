/**
 * Tests traces and metrics of OpenTelemetry, with a receiver that decodes them. The proxy is a process of its own,
 * because the exporters do not send anything in jest's modules.
 */
import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { daemonFixture, LOCAL } from '../daemon/fixture.js';
import { waitFor } from '../harness/wait.js';
import { ANSWER, startFaultyUpstream, type FaultyUpstream } from '../routing/faulty-upstream.js';
import { configOf, messages, type Blocks, type TestModel } from '../routing/fixture.js';
import { listen } from '../support/app.js';
import { startOtlpReceiver, type OtlpReceiver } from './otlp-receiver.js';

const daemon = daemonFixture();
const closing: (() => Promise<void>)[] = [];
let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
  closing.push(() => receiver.close());
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Starts upstreams, and a proxy in front of them. */
async function setUp(models: readonly TestModel[], blocks: Blocks, env: Readonly<Record<string, string>> = {}) {
  const upstreams: FaultyUpstream[] = await Promise.all(models.map(({ behavior }) => startFaultyUpstream(behavior)));
  for (const upstream of upstreams) closing.push(() => upstream.close());
  const file = daemon.write('config.yaml', configOf(models, upstreams, blocks));
  const standard = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
  const child = daemon.start(['--config', file, ...LOCAL], { env: { ...standard, ...env } });
  const url = await child.address();
  const ask = async (body: object = {}, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'chat', messages, ...body }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const end = async () => {
    child.signal('SIGTERM');
    await child.waitForExit();
  };
  return { child, url, ask, end, upstreams };
}

const otel = { litellm_settings: { callbacks: ['otel'], num_retries: 1 } };
const spans = (count: number) =>
  waitFor(
    () => (receiver.spans.length >= count ? receiver.spans : undefined),
    () => `received ${receiver.spans.length} spans`,
  );

describe('the callback otel', () => {
  it('sends a span for each request and each attempt, with the trace of the client', async () => {
    const { ask, upstreams } = await setUp(
      [{ behavior: { status: 500 }, params: { order: 1 } }, { params: { order: 2 } }],
      otel,
      { OTEL_SERVICE_NAME: 'gateway' },
    );
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    expect((await ask({}, { traceparent, tracestate: 'vendor=1' })).status).toBe(200);
    const all = await spans(3);
    const [failed, served, server] = ['0', '1', undefined].map((id) =>
      all.find(({ attributes }) => attributes['rackless.deployment.id'] === id),
    );
    expect(new Set(all.map((span) => span.traceId))).toEqual(new Set([traceId]));
    expect(server).toMatchObject({
      name: 'POST /v1/chat/completions',
      parentId: 'b7ad6b7169203331',
      kind: 2,
      status: 0,
    });
    expect(server?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'rackless.model_group': 'chat',
    });
    expect(failed).toMatchObject({ name: 'chat m', parentId: server?.spanId, kind: 3, status: 2 });
    expect(failed?.attributes).toMatchObject({ 'error.type': 'upstreamStatus', 'http.response.status_code': 500 });
    expect(served).toMatchObject({ name: 'chat m', parentId: server?.spanId, kind: 3, status: 0 });
    expect(served?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'hosted_vllm',
      'gen_ai.request.model': 'm',
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.output_tokens': 5,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(upstreams[1]?.apiBase ?? '').port),
    });
    expect((server?.startMs ?? 0) <= (failed?.startMs ?? 0)).toBe(true);
    expect((served?.endMs ?? 0) <= (server?.endMs ?? 0)).toBe(true);
    expect(receiver.resource).toMatchObject({ 'service.name': 'gateway' });
    // The exported data must contain neither the prompt nor the answer.
    for (const { body } of receiver.requests)
      expect(body.toString('latin1')).not.toMatch(new RegExp(`Hello|${ANSWER}`));
  });

  it('lets the upstream continue the trace', async () => {
    const seen: (readonly (string | string[] | undefined)[])[] = [];
    const server = createServer((request, response) => {
      seen.push([request.headers['traceparent'], request.headers['tracestate']]);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
    });
    const api_base = `http://127.0.0.1:${await listen(server)}/v1`;
    const { ask } = await setUp([{ params: { api_base } }], otel);
    await ask({}, { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'vendor=1' });
    await ask({}, { traceparent: 'not valid' });
    const all = await spans(4);
    const clientSpans = all.filter(({ kind }) => kind === 3).map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
    expect(seen.map(([traceparent]) => traceparent)).toEqual(clientSpans);
    expect(seen[0]).toEqual([expect.stringContaining('0af7651916cd43dd8448eb211c80319c'), 'vendor=1']);
    server.close();
    server.closeAllConnections();
  });

  it('sends metrics of requests, operations and tokens', async () => {
    const { ask } = await setUp([{}], otel, { OTEL_METRIC_EXPORT_INTERVAL: '200' });
    await ask();
    await ask();
    const names = ['http.server.request.duration', 'gen_ai.client.operation.duration', 'gen_ai.client.token.usage'];
    const point = (name: string, count: number) =>
      receiver.points.find((one) => one.name === name && one.count === count);
    await waitFor(
      () => (names.every((name) => point(name, 2) !== undefined) ? true : undefined),
      () => `received ${JSON.stringify(receiver.points)}`,
    );
    expect(point('gen_ai.client.operation.duration', 2)?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
    });
    const tokens = receiver.points.filter(({ name, count }) => name === 'gen_ai.client.token.usage' && count === 2);
    expect(new Set(tokens.map(({ attributes }) => attributes['gen_ai.token.type']))).toEqual(
      new Set(['input', 'output']),
    );
    expect(tokens.map(({ sum }) => sum)[0]).toBe(10);
  });

  it('reports rejected requests but not probes, with the configured headers, before the process ends', async () => {
    const { ask, url, end } = await setUp([{}], otel, { OTEL_HEADERS: 'x-key=a%20b', OTEL_METRICS_EXPORTER: 'none' });
    expect((await ask({ model: 'unknown' })).status).toBe(400);
    await fetch(`${url}/health/readiness`);
    await end();
    expect(receiver.spans.map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual([
      ['POST /v1/chat/completions', 400],
    ]);
    expect(receiver.requests.map(({ url, headers }) => [url, headers['x-key']])).toEqual([['/v1/traces', 'a b']]);
  });

  it('makes no request fail if no receiver listens', async () => {
    const { child, ask } = await setUp([{}], otel, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
    for (let count = 0; count < 5; count += 1) expect((await ask()).status).toBe(200);
    await child.waitForOutput(/telemetry cannot be exported/);
    expect((await ask()).status).toBe(200);
  });

  it('delays the end only once if its receiver and that of a webhook hang', async () => {
    const server = createServer((request) => void request.resume());
    const port = await listen(server);
    closing.push(() => {
      server.close().closeAllConnections();
      return Promise.resolve();
    });
    const url = `http://127.0.0.1:${port}`;
    const hook = { callback_type: 'generic_api', endpoint: url, batch_size: 1 };
    const { ask, end } = await setUp(
      [{}],
      { litellm_settings: { callbacks: ['otel', 'hook'] }, callback_settings: { hook } },
      { OTEL_EXPORTER_OTLP_ENDPOINT: url },
    );
    expect((await ask()).status).toBe(200);
    const startedAt = performance.now();
    await end();
    // The proxy waits five seconds for each receiver, in parallel. One after the other, the waits would take ten.
    expect(performance.now() - startedAt).toBeLessThan(9500);
  });

  it('logs why an answer of the receiver cannot be read', async () => {
    const server = createServer((request, response) => void request.resume().on('end', () => response.end('{}')));
    const port = await listen(server);
    closing.push(() => {
      server.close().closeAllConnections();
      return Promise.resolve();
    });
    const { child, ask } = await setUp([{}], otel, { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
    expect((await ask()).status).toBe(200);
    await child.waitForOutput(
      /OpenTelemetry warns","reason":"OTLPExportDelegate: Export succeeded but could not deserialize/,
    );
  });

  it('is off by default', async () => {
    const { ask, end } = await setUp([{}], {});
    await ask();
    await end();
    expect(receiver.requests).toEqual([]);
  });
});

describe('the callback langfuse_otel', () => {
  const blocks = { litellm_settings: { success_callback: 'langfuse_otel' } };

  it("sends spans to Langfuse's address with its keys", async () => {
    const env = { LANGFUSE_PUBLIC_KEY: 'pk', LANGFUSE_SECRET_KEY: 'sk', LANGFUSE_HOST: receiver.url };
    const { ask, end } = await setUp([{}], blocks, env);
    await ask();
    await end();
    const [sent] = receiver.requests;
    expect([sent?.url, sent?.headers.authorization]).toEqual(['/api/public/otel/v1/traces', 'Basic cGs6c2s=']);
    expect(receiver.spans).toHaveLength(2);
  });

  it("does not send the headers in OpenTelemetry's variables, which are for another vendor", async () => {
    const env = { LANGFUSE_PUBLIC_KEY: 'pk', LANGFUSE_SECRET_KEY: 'sk', LANGFUSE_HOST: receiver.url };
    const secrets = { OTEL_EXPORTER_OTLP_HEADERS: 'api-key=secret', OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-key=secret' };
    const { ask, end } = await setUp([{}], blocks, { ...env, ...secrets });
    await ask();
    await end();
    expect(receiver.requests).not.toEqual([]);
    expect(JSON.stringify(receiver.requests.map(({ headers }) => headers))).not.toContain('secret');
  });

  it('prevents the start if one of its two keys is missing', async () => {
    const file = daemon.write('config.yaml', JSON.stringify({ model_list: [], ...blocks }));
    const { code, stdout, stderr } = await daemon.run(['--config', file, ...LOCAL], { LANGFUSE_PUBLIC_KEY: 'pk' });
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain('the callback langfuse_otel needs LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY');
  });
});
