/** Tests clients that do not read their answers. Time is fake. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call } from '../harness/call.js';
import { startTestProxy, type TestProxy } from '../harness/proxy.js';
import { passTime, stopTime } from '../harness/stopped-time.js';
import { waitFor } from '../harness/wait.js';

stopTime({ timers: 'all' });

/** More than all buffers between the upstream and the client can store. */
const LARGE = Buffer.alloc(64 * 1024 * 1024);

let upstream: Server;
let proxy: TestProxy;
beforeAll(async () => {
  upstream = createServer((request, response) => {
    response.end(request.url?.endsWith('/large') === true ? LARGE : 'small');
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo; // a TCP server has an AddressInfo
  const params = [
    ...['model: openai/m', `api_base: 'http://127.0.0.1:${port}/v1'`, 'api_key: x'],
    ...['use_in_pass_through: true', 'max_parallel_requests: 1'],
  ];
  proxy = await startTestProxy(`model_list: [{model_name: m, litellm_params: {${params.join(', ')}}}]\n`);
});
afterAll(async () => {
  await proxy.close();
  upstream.closeAllConnections();
  upstream.close();
});

const small = async () => (await call(`${proxy.url}/openai/v1/small`, { method: 'GET' })).status;

describe('an answer that its client does not read', () => {
  it('loses its connection after ten minutes, so that its deployment can have another request', async () => {
    const client = connect(proxy.port, '127.0.0.1').on('error', () => undefined);
    client.write('GET /openai/v1/large HTTP/1.1\r\nhost: a\r\n\r\n');
    await once(client, 'readable');
    expect(await small()).toBe(429);
    await passTime(500_000);
    expect(await small()).toBe(429);
    await passTime(200_000);
    expect(await small()).toBe(200);
    const line = await waitFor(
      () => proxy.logged().find((text) => text.includes('/openai/v1/large')),
      () => 'the proxy logged no line about the large answer',
    );
    expect(line).toContain('gone=true');
    client.destroy();
  });
});
