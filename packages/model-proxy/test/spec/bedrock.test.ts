/** Contract: models of Bedrock. */
import { expect, it } from '@jest/globals';
import { findProvider } from '../../src/providers/index.js';
import { converseApi } from '../../src/providers/bedrock/converse.js';
import { UNBOUNDED } from '../support/deployment.js';
import { json, serveApp } from '../support/app.js';

it("MP-105 Models of Bedrock: chat requests are signed, and translated from and to Bedrock's Converse API", async () => {
  const tls = { verify: true, clientCertificate: null };
  const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret-of-the-key', sessionToken: null };
  const files = { credentials: null, config: null };
  const settings = {
    kind: 'aws',
    issuer: 'AWS',
    service: 'bedrock',
    region: 'us-east-1',
    source: { keys },
    role: null,
    stsEndpoint: null,
    files,
  } as const;
  const deployment = {
    provider: { ...findProvider('bedrock'), ...converseApi },
    upstreamModel: 'm',
    apiKey: null,
    token: { settings, tls },
    timeouts: UNBOUNDED,
  };
  const served = await serveApp({ deployment });
  const content = [{ text: 'Hi!' }];
  served.answering = json({ output: { message: { role: 'assistant', content } }, stopReason: 'end_turn' });
  const body = JSON.stringify({ model: 'public', messages: [{ role: 'user', content: 'hi' }] });
  const answer = await fetch(`${served.url}/v1/chat/completions`, { method: 'POST', body });
  expect(await answer.json()).toMatchObject({
    object: 'chat.completion',
    model: 'bedrock/m',
    choices: [{ message: { content: 'Hi!' }, finish_reason: 'stop' }],
  });
  const [upstreamRequest] = served.requests;
  expect(upstreamRequest?.url).toBe('/v1/model/m/converse');
  expect(upstreamRequest?.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/us-east-1\/bedrock\//,
  );
  expect(JSON.parse(upstreamRequest?.body.toString() ?? '')).toEqual({
    messages: [{ role: 'user', content: [{ text: 'hi' }] }],
  });
  await served.close();
});
