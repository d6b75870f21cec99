import { describe, expect, it } from '@jest/globals';
import type { IncomingHttpHeaders } from 'node:http';
import { deploymentAt } from '../../test/support/app.js';
import { rawAnswerHeaders, rawRequestHeaders } from './headers.js';

const ours = {
  'user-agent': 'rackless-model-proxy/1.2.3',
  authorization: 'Bearer sk-upstream-0123456789',
  'x-request-id': 'id-1',
  host: 'host:8443',
};

function headersFor(head: IncomingHttpHeaders, extraHeaders: Readonly<Record<string, string>> = {}) {
  const deployment = deploymentAt('https://host:8443/v1', { extraHeaders });
  return rawRequestHeaders({ head, deployment, version: '1.2.3', id: 'id-1', host: 'host:8443' });
}

describe('the headers of a raw request', () => {
  it('are forwarded if they are about the request', () => {
    const head = {
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'content-type': 'multipart/form-data; boundary=x',
      'idempotency-key': 'once',
      'openai-beta': 'assistants=v2',
      range: 'bytes=0-9',
      traceparent: '00-1-2-01',
    };
    expect(headersFor(head)).toEqual({ ...head, ...ours });
  });

  it('are not forwarded if they are about the client, its key or the connection', () => {
    const dropped = {
      authorization: 'Bearer client',
      'api-key': 'client',
      'x-api-key': 'client',
      'x-litellm-api-key': 'client',
      'x-goog-api-key': 'client',
      'x-auth-request-email': 'a@b',
      cookie: 'a=b',
      'openai-organization': 'org',
      'openai-project': 'proj',
      'custom-llm-provider': 'openai',
      'x-litellm-tags': 'a',
      'x-forwarded-for': '10.0.0.1',
      'x-real-ip': '10.0.0.1',
      forwarded: 'for=10.0.0.1',
      via: '1.1 edge',
      origin: 'https://page',
      referer: 'https://page/x',
      'sec-fetch-mode': 'cors',
      'user-agent': 'curl/8',
      'x-stainless-lang': 'js',
      'x-request-id': 'client',
      host: 'proxy:4000',
      connection: 'close, X-Hop',
      'x-hop': 'one',
      'keep-alive': 'timeout=5',
      'proxy-authorization': 'Basic x',
      te: 'trailers',
      trailer: 'x',
      'transfer-encoding': 'chunked',
      'content-length': '5',
      expect: '100-continue',
      upgrade: 'h2c',
      'http2-settings': 'x',
    };
    expect(headersFor(dropped)).toEqual(ours);
  });

  it('are replaced by extra_headers of the deployment', () => {
    const extra = { 'openai-organization': 'org-ours', 'openai-beta': 'ours' };
    expect(headersFor({ 'openai-beta': 'client' }, extra)).toEqual({ ...ours, ...extra });
  });

  it('contain the subprotocols without the key', () => {
    const head = { 'sec-websocket-protocol': 'realtime, openai-insecure-api-key.client,openai-beta.realtime-v1' };
    expect(headersFor({ ...head, 'sec-websocket-key': 'abc' })).toEqual({
      ...ours,
      'sec-websocket-key': 'abc',
      'sec-websocket-protocol': 'realtime, openai-beta.realtime-v1',
    });
    expect(headersFor({ 'sec-websocket-protocol': 'openai-insecure-api-key.client' })).toEqual(ours);
  });
});

describe('the headers of a raw answer', () => {
  it("are forwarded, except those that would apply to the proxy; names of the proxy's own headers get a prefix", () => {
    const raw = ['Content-Type', 'a/b', 'Content-Length', '3', 'Content-Encoding', 'gzip', 'X-Request-Id', 'req_1'];
    raw.push('Location', 'https://upstream/x', 'ETag', '"1"', 'x-litellm-version', '9', 'Link', 'a', 'Link', 'b');
    const dropped = ['Connection', 'X-Hop', 'X-Hop', '1', 'Set-Cookie', 'a=b', 'Transfer-Encoding', 'chunked'];
    dropped.push(
      'WWW-Authenticate',
      'Bearer',
      'Access-Control-Allow-Origin',
      'https://x',
      'Date',
      'x',
      'Alt-Svc',
      'h3',
    );
    expect(rawAnswerHeaders([...dropped, ...raw], new Set(['x-request-id']), (value) => value)).toEqual([
      ...[
        'content-type',
        'a/b',
        'content-length',
        '3',
        'content-encoding',
        'gzip',
        'llm_provider-x-request-id',
        'req_1',
      ],
      ...[
        'location',
        'https://upstream/x',
        'etag',
        '"1"',
        'llm_provider-x-litellm-version',
        '9',
        'link',
        'a',
        'link',
        'b',
      ],
    ]);
  });
});
