import { describe, expect, it } from '@jest/globals';
import { call, exchangeBytes, type CallOptions } from '../harness/call.js';
import { encodeResponseId } from '../../src/providers/response-id.js';
import { errorOf } from '../faults/fixture.js';
import { waitFor } from '../harness/wait.js';
import { useRawProxy } from './fixture.js';
import { RAW_KEY } from './raw-upstream.js';

const fixture = useRawProxy({ config: (upstream) => withMaster(upstream.apiBase, upstream.caFile) });
const MASTER = 'sk-master-0123456789';

function withMaster(apiBase: string, caFile: string): string {
  return `
model_list:
  - model_name: gpt
    litellm_params: {model: openai/gpt-upstream, api_base: "${apiBase}", api_key: ${RAW_KEY}, extra_headers: {X-Team: ours}, use_in_pass_through: true}
  - model_name: oss
    litellm_params: {model: hosted_vllm/org/oss-upstream, api_base: "${apiBase}", api_key: ${RAW_KEY}, use_in_pass_through: true}
  - model_name: limited
    litellm_params: {model: hosted_vllm/limited-upstream, api_base: "${apiBase}", api_key: ${RAW_KEY}, use_in_pass_through: true, rpm: 1}
  - model_name: closed
    litellm_params: {model: hosted_vllm/org/closed-upstream, api_base: "${apiBase}", api_key: ${RAW_KEY}}
litellm_settings:
  ssl_verify: ${caFile}
general_settings:
  master_key: ${MASTER}
  max_request_size_mb: 1
`;
}

const ask = (path: string, options: CallOptions = {}) =>
  call(fixture().proxy.url + path, {
    method: 'GET',
    ...options,
    headers: { authorization: `Bearer ${MASTER}`, ...options.headers },
  });

describe('a raw request', () => {
  it.each([
    ['/openai/v1/models?limit=2&after=a%2Fb', '/v1/models?limit=2&after=a%2Fb'],
    ['/openai/models', '/v1/models'],
    ['/openai_passthrough/v1/threads/t/runs', '/v1/threads/t/runs'],
    ['/vllm/metrics/', '/metrics/'],
    ['/vllm/v1/models', '/v1/models'],
    ['/vllm/x?callback=http://a//b', '/x?callback=http://a//b'],
    ['/openai/v1/x?api-key=client&api_key=client&a=1', '/v1/x?a=1'],
    ['/vllm/pooling?model=oss', '/pooling?model=org%2Foss-upstream'],
    ['/vllm/pooling?model=closed', '/pooling?model=closed'],
  ])('to %s reaches the upstream as %s', async (path, expected) => {
    const answer = await ask(path);
    expect([answer.status, answer.json()]).toEqual([200, { method: 'GET', url: expected, length: 0 }]);
  });

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'])('may have the method %s', async (method) => {
    const answer = await ask('/openai/v1/assistants/a', { method });
    expect([answer.status, fixture().upstream.last.method]).toEqual([200, method]);
    expect(answer.text === '').toBe(method === 'HEAD');
  });

  it("reaches the upstream with the deployment's key and headers, without the client's keys and cookies", async () => {
    const answer = await ask('/openai/v1/x', {
      headers: { 'api-key': 'client', cookie: 'a=client', 'OpenAI-Beta': 'assistants=v2', 'x-request-id': 'mine-1' },
    });
    const { upstream } = fixture();
    expect(answer.status).toBe(200);
    expect(upstream.last.headers).toEqual({
      authorization: `Bearer ${RAW_KEY}`,
      'user-agent': expect.stringMatching(/^rackless-model-proxy\//),
      'x-team': 'ours',
      'openai-beta': 'assistants=v2',
      'x-request-id': 'mine-1',
      host: `localhost:${upstream.port}`,
      connection: 'keep-alive',
    });
    expect(JSON.stringify(upstream.last.rawHeaders)).not.toMatch(/client|sk-master/);
  });

  it('gets an answer with headers of the proxy and of the upstream, each under its own name', async () => {
    const answer = await ask('/openai/v1/x', { headers: { 'x-litellm-call-id': 'call-1', origin: 'https://page' } });
    const {
      date,
      'x-litellm-response-duration-ms': took,
      'x-litellm-overhead-duration-ms': over,
      ...rest
    } = answer.headers;
    expect([Number(took) > 0, Number(over) >= 0, Number(over) <= Number(took), typeof date]).toEqual([
      true,
      true,
      true,
      'string',
    ]);
    expect(rest).toEqual({
      'x-request-id': 'call-1',
      'x-litellm-call-id': 'call-1',
      'x-litellm-max-fallbacks': '0',
      'x-litellm-timeout': '6000.0',
      'x-litellm-version': expect.any(String),
      'x-litellm-model-id': expect.stringMatching(/^[0-9a-f]{64}$/),
      'x-litellm-model-api-base': fixture().upstream.apiBase,
      'x-litellm-model-group': 'gpt',
      'x-litellm-attempted-retries': '0',
      'x-litellm-attempted-fallbacks': '0',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': '*',
      'content-type': 'application/json',
      'llm_provider-x-request-id': 'req-upstream',
      'openai-processing-ms': '7',
      connection: 'close',
      'transfer-encoding': 'chunked',
    });
  });

  it('reaches the upstream with an unchanged body, JSON or not', async () => {
    const body = '{ "model" : "gpt", "n": 1.0, "n": 2 } ';
    await ask('/openai/v1/chat/completions/x', { method: 'POST', body });
    expect(fixture().upstream.last.body?.text).toBe(body);
    await ask('/vllm/x', { method: 'PUT', body: Buffer.from([0, 255, 13, 10]), headers: { 'content-type': 'a/b' } });
    expect(Buffer.from(fixture().upstream.last.body?.text ?? '', 'latin1')).toEqual(Buffer.from([0, 255, 13, 10]));
  });

  it("to vLLM has the upstream's model name instead of a public name in its JSON; other names stay", async () => {
    const sent = async (body: string) => {
      const answer = await ask('/vllm/score', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
      return [answer.status, fixture().upstream.last.body?.text];
    };
    expect(await sent('{ "text_1": "a", "model" : "oss" }')).toEqual([
      200,
      '{ "text_1": "a", "model" : "org/oss-upstream" }',
    ]);
    expect(await sent('{"model":"org/oss-upstream"}')).toEqual([200, '{"model":"org/oss-upstream"}']);
    expect(await sent('{"no":"model"}')).toEqual([200, '{"no":"model"}']);
    expect(await sent('[1, 2')).toEqual([200, '[1, 2']);
    expect(fixture().upstream.last.headers['content-length']).toBe('5');
  });

  it('to vLLM is rejected if its model is ambiguous, or if its body is too large', async () => {
    const json = { 'content-type': 'application/json' };
    const twice = await ask('/vllm/score', { method: 'POST', body: '{"model":"oss","model":"x"}', headers: json });
    expect([twice.status, errorOf(twice.text).param]).toEqual([400, 'model']);
    const large = await ask('/vllm/score', { method: 'POST', body: `{"a":"${'x'.repeat(1_200_000)}"}`, headers: json });
    expect([large.status, errorOf(large.text).type]).toEqual([413, 'invalid_request_error']);
    expect(fixture().upstream.seen).toEqual([]);
  });

  it('needs a key of the proxy; without such a key, the upstream gets no request', async () => {
    const url = `${fixture().proxy.url}/openai/v1/models`;
    expect((await call(url, { method: 'GET' })).status).toBe(401);
    const wrong = await call(url, { method: 'GET', headers: { authorization: `Bearer ${RAW_KEY}` } });
    expect([wrong.status, errorOf(wrong.text).type]).toEqual([401, 'token_not_found_in_db']);
    expect(fixture().upstream.seen).toEqual([]);
  });

  it('gets a 204 without the Content-Length that the upstream sends', async () => {
    fixture().upstream.intercept = (_request, response) => {
      response.writeHead(204, { 'content-length': '3' }).end();
      return true;
    };
    const { status, headers, text } = await ask('/openai/v1/x');
    expect([status, headers['content-length'], text]).toEqual([204, undefined, '']);
  });

  it('gets 405 for an unknown method; the proxy itself answers OPTIONS, and GET at a path of WebSockets', async () => {
    const refused = await ask('/openai/v1/x', { method: 'PROPFIND' });
    expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD, POST, PUT, PATCH, DELETE']);
    const options = await ask('/v1/files', { method: 'OPTIONS' });
    expect([options.status, options.headers.allow]).toEqual([204, 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']);
    const realtime = await ask('/v1/realtime?model=gpt');
    expect([realtime.status, realtime.headers.upgrade]).toEqual([426, 'websocket']);
    expect(fixture().upstream.seen).toEqual([]);
  });

  it.each([
    '/openai/../admin',
    '/openai/%2e%2e/admin',
    '/openai/v1/..%2f..%2fadmin',
    '/vllm/%252e%252e/admin',
    '/vllm/..;/admin',
    '/openai/a\\..\\admin',
    '/v1/files/../../admin',
    '//evil.example/openai',
  ])('to %s is rejected with 404', async (path) => {
    const { proxy, upstream } = fixture();
    const bytes = `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${MASTER}\r\nconnection: close\r\n\r\n`;
    const answer = await exchangeBytes(proxy.port, Buffer.from(bytes));
    expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 404 Not Found');
    expect(upstream.seen).toEqual([]);
  });

  it.each(['../files', '../../admin', '..%2fadmin', 'x/../../admin', '..\\admin', 'x\0'])(
    'about a stored response is rejected with 404 if its id leads to the path %j',
    async (upstreamId) => {
      const { data } = (await ask('/model/info')).json() as {
        data: { model_name: string; model_info: { id: string } }[];
      };
      const deploymentId = data.find((one) => one.model_name === 'oss')?.model_info.id ?? '';
      const pathOf = (id: string) =>
        `/v1/responses/${encodeResponseId('hosted_vllm', { deploymentId, upstreamId: id })}`;
      for (const path of ['', '/input_items']) expect((await ask(pathOf(upstreamId) + path)).status).toBe(404);
      expect((await ask(pathOf(upstreamId), { method: 'DELETE' })).status).toBe(404);
      expect(fixture().upstream.seen).toEqual([]);
      expect((await ask(pathOf('resp_1'))).status).toBe(200);
    },
  );

  it('with another host in its URL goes to the configured upstream', async () => {
    const { proxy, upstream } = fixture();
    const bytes = `GET http://evil.example/openai//v1/x HTTP/1.1\r\nhost: evil.example\r\nauthorization: Bearer ${MASTER}\r\nconnection: close\r\n\r\n`;
    const answer = await exchangeBytes(proxy.port, Buffer.from(bytes));
    expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 200 OK');
    expect([upstream.last.url, upstream.last.headers.host]).toEqual(['/v1/x', `localhost:${upstream.port}`]);
  });

  it('with DELETE and a body in chunks is one request at the upstream, not two', async () => {
    const { proxy, upstream } = fixture();
    const smuggled = 'GET /v1/smuggled HTTP/1.1\r\nhost: a\r\n\r\n';
    const head = `DELETE /openai/v1/files/f HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${MASTER}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`;
    const answer = await exchangeBytes(
      proxy.port,
      Buffer.from(`${head}${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`),
    );
    expect(answer).toContain('HTTP/1.1 404 Not Found');
    expect(answer).toContain('No such File object');
    expect(upstream.seen.map(({ method, url, body }) => [method, url, body?.text])).toEqual([
      ['DELETE', '/v1/files/f', smuggled],
    ]);
    expect(upstream.last.headers['transfer-encoding']).toBe('chunked');
  });

  it('counts for `rpm` of its deployment', async () => {
    const statuses: number[] = [];
    // A new minute may begin between two requests, so the test sends three.
    for (let count = 0; count < 3; count += 1) statuses.push((await ask('/vllm/pooling?model=limited')).status);
    expect(statuses[0]).toBe(200);
    expect(statuses).toContain(429);
  });

  it('gets errors and redirects of the upstream, but neither cookies nor authentication headers', async () => {
    const { upstream } = fixture();
    const missing = await ask('/openai/v1/files/none');
    expect([missing.status, missing.json()]).toEqual([
      404,
      { error: { message: 'No such File object: none', type: 'invalid_request_error', param: 'id', code: null } },
    ]);
    upstream.intercept = (_request, response) => {
      response
        .writeHead(307, { location: 'https://elsewhere/x', 'set-cookie': 'a=b', 'www-authenticate': 'Basic' })
        .end('moved');
      return true;
    };
    const moved = await ask('/openai/v1/x');
    expect([moved.status, moved.headers.location, moved.text]).toEqual([307, 'https://elsewhere/x', 'moved']);
    expect([moved.headers['set-cookie'], moved.headers['www-authenticate']]).toEqual([undefined, undefined]);
  });

  it('gets a stream with the content coding of the upstream, unchanged', async () => {
    const { upstream } = fixture();
    upstream.intercept = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'x-own' });
      for (const event of ['data: 1\n\n', ': comment\n\n', 'data: [DONE]\n\n']) response.write(event);
      response.end();
      return true;
    };
    const answer = await ask('/openai/v1/x');
    expect([answer.headers['content-encoding'], answer.text]).toEqual([
      'x-own',
      'data: 1\n\n: comment\n\ndata: [DONE]\n\n',
    ]);
  });

  it.each([
    ['text/event-stream', true],
    ['Text/Event-Stream; charset=utf-8', true],
    ['application/json', false],
  ])(
    'with an answer of type %s, after a Vary header, has the time of the first token in the log: %s',
    async (type, isTimed) => {
      const { proxy, upstream } = fixture();
      upstream.intercept = (_request, response) => {
        response.writeHead(200, ['vary', 'content-type', 'content-type', type]).end('data: 1\n\n');
        return true;
      };
      const { headers } = await ask('/openai/v1/x');
      const line = await waitFor(
        () => proxy.logged().find((text) => text.includes(String(headers['x-request-id'])) && text.includes('GET')),
        () => 'the log has no line about the request',
      );
      expect(line.includes('firstTokenMs')).toBe(isTimed);
    },
  );

  it('is in the log and in the metrics', async () => {
    const { proxy } = fixture();
    await ask('/openai/v1/log-me');
    // The client may have the whole answer before the proxy has seen its end.
    const line = await waitFor(
      () => proxy.logged().find((text) => text.includes('/openai/v1/log-me')),
      () => 'the log has no line about the request',
    );
    expect(line).toMatch(/GET \/openai\/v1\/log-me/);
    expect(line).toContain('200');
    expect(line).toContain('gpt');
    const metrics = await ask('/metrics');
    expect(metrics.text).toMatch(/litellm_proxy_total_requests_metric_total\{[^}]*route="pass-through"[^}]*\} \d+/);
  });

  it('reuses connections, and is repeated if the upstream has just closed one', async () => {
    const { upstream } = fixture();
    await ask('/openai/v1/x');
    const before = upstream.connections;
    for (let round = 0; round < 5; round += 1) await ask('/openai/v1/x');
    expect(upstream.connections).toBe(before);
    // The upstream closes the connection when the next request arrives on it.
    let met = 0;
    upstream.intercept = (request) => {
      met += 1;
      if (met > 1) return false;
      request.socket.destroy();
      return true;
    };
    expect((await ask('/openai/v1/x')).status).toBe(200);
    expect([met, upstream.connections]).toEqual([2, before + 1]);
  });
});
