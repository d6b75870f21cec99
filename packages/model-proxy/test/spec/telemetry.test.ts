/** Contract: the rows about callbacks. */
import { expect, it } from '@jest/globals';
import { daemonFixture, LOCAL } from '../daemon/fixture.js';
import { configOf, messages } from '../routing/fixture.js';
import { startFaultyUpstream } from '../routing/faulty-upstream.js';
import { startOtlpReceiver } from '../telemetry/otlp-receiver.js';
import { startReportReceiver } from '../callbacks/receiver.js';

const daemon = daemonFixture();

it("MP-88 the callback otel sends a span for each request and each attempt, in the client's trace", async () => {
  const [receiver, upstream] = [await startOtlpReceiver(), await startFaultyUpstream()];
  const file = daemon.write('c.yaml', configOf([{}], [upstream], { litellm_settings: { callbacks: ['otel'] } }));
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  const child = daemon.start(['--config', file, ...LOCAL], { env });
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  await fetch(`${await child.address()}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${traceId}-b7ad6b7169203331-01` },
    body: JSON.stringify({ model: 'chat', messages }),
  });
  child.signal('SIGTERM');
  await child.waitForExit();
  const seen = receiver.spans.map((span) => [span.name, span.traceId]);
  expect(seen.sort()).toEqual([
    ['POST /v1/chat/completions', traceId],
    ['chat m', traceId],
  ]);
  await upstream.close();
  await receiver.close();
});

it('MP-132 a callback of the type generic_api gets a report about each request, without prompts and answers', async () => {
  const [receiver, upstream] = [await startReportReceiver(), await startFaultyUpstream()];
  const blocks = {
    litellm_settings: { callbacks: ['ours'] },
    callback_settings: { ours: { callback_type: 'generic_api', endpoint: receiver.url } },
  };
  const file = daemon.write('c.yaml', configOf([{}], [upstream], blocks));
  const child = daemon.start(['--config', file, ...LOCAL]);
  await fetch(`${await child.address()}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-litellm-call-id': 'call-1' },
    body: JSON.stringify({ model: 'chat', messages }),
  });
  child.signal('SIGTERM');
  await child.waitForExit();
  expect(receiver.requests.map(({ body }): unknown => JSON.parse(body))).toEqual([
    [expect.objectContaining({ id: 'call-1', status: 'success', total_tokens: 10, messages: 'redacted-by-litellm' })],
  ]);
  await upstream.close();
  await receiver.close();
});

it('MP-89 /metrics has no label with a key or a user: only the route, the model, the deployment and the result', async () => {
  const upstream = await startFaultyUpstream();
  const general_settings = { master_key: 'sk-master-0123456789' };
  const litellm_settings = { callbacks: ['prometheus'] };
  const file = daemon.write('c.yaml', configOf([{}], [upstream], { general_settings, litellm_settings }));
  const child = daemon.start(['--config', file, ...LOCAL]);
  const url = await child.address();
  const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-master-0123456789' };
  for (const model of ['chat', 'unknown'])
    await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model, messages, user: 'the-user' }),
    });
  const text = await (await fetch(`${url}/metrics`)).text();
  const series = text.split('\n').filter((line) => line.startsWith('litellm_'));
  const labels = series.flatMap((line) => Array.from(line.matchAll(/[{,](\w+)="/g), ([, name = '']) => name));
  const results = ['exception_class', 'exception_status', 'le', 'status_code'];
  expect([...new Set(labels)].sort()).toEqual([...results, 'model_id', 'requested_model', 'route'].sort());
  expect(text).not.toMatch(/the-user|sk-master/);
  child.signal('SIGTERM');
  await child.waitForExit();
  await upstream.close();
});
