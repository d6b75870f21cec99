/** The row of the contract about OpenTelemetry. */
import { expect, it } from '@jest/globals';
import { daemonFixture, LOCAL } from '../daemon/fixture.js';
import { configOf, messages } from '../routing/fixture.js';
import { startFaultyUpstream } from '../routing/faulty-upstream.js';
import { startOtlpReceiver } from '../telemetry/otlp-receiver.js';

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
  await child.finished();
  const seen = receiver.spans.map((span) => [span.name, span.traceId]);
  expect(seen.sort()).toEqual([
    ['POST /v1/chat/completions', traceId],
    ['chat m', traceId],
  ]);
  await upstream.close();
  await receiver.close();
});
