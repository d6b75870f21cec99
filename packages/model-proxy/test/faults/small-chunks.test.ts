import { createServer } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestProxy, type TestProxy } from '../harness/proxy.js';
import { listen } from '../support/app.js';

describe('a body in many chunks', () => {
  const upstream = createServer((incoming, response) => {
    incoming.resume();
    incoming.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{}');
    });
  });
  let proxy: TestProxy;
  beforeAll(async () => {
    const apiBase = `http://127.0.0.1:${await listen(upstream)}/v1`;
    proxy = await startTestProxy(
      [
        'model_list:',
        `  - {model_name: m, litellm_params: {model: hosted_vllm/m, api_base: "${apiBase}"}}`,
        '  - model_name: o',
        `    litellm_params: {model: openai/o, api_base: "${apiBase}", api_key: k, use_in_pass_through: true}`,
        '',
      ].join('\n'),
    );
  });
  afterAll(async () => {
    await proxy.close();
    upstream.closeAllConnections();
    upstream.close();
  });

  const json = (length: number) => `{"model":"m","messages":[],"input":"${'x'.repeat(length)}"}`;
  const form = (length: number) =>
    `--xx\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${'x'.repeat(length)}\r\n--xx--\r\n`;
  const send = (path: string, type: string, body: string, chunkBytes: number): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(proxy.port, '127.0.0.1');
      let answer = '';
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
      socket.on('error', () => undefined); // The proxy does not read the rest of a rejected body.
      socket.on('close', () => resolve(answer));
      const chunks = [`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n`];
      chunks.push('Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n');
      for (let start = 0; start < body.length; start += chunkBytes) {
        const chunk = body.slice(start, start + chunkBytes);
        chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
      }
      socket.write(`${chunks.join('')}0\r\n\r\n`);
    });

  it.each([
    ['/v1/chat/completions', 'application/json', json],
    ['/v1/batches?model=m', 'application/json', json],
    ['/v1/files?model=m', 'multipart/form-data; boundary=xx', form],
    ['/openai/v1/chat/completions', 'application/json', json],
  ])('for %s is rejected if the chunks have 1 byte, but not if they have 40', async (path, type, body) => {
    const rejected = await send(path, type, body(300_000), 1);
    expect(rejected).toMatch(/^HTTP\/1\.1 400 /);
    expect(rejected).toContain('too many small chunks');
    // These 20,000 chunks are large enough: the limit is an average of 16 bytes.
    expect(await send(path, type, body(800_000), 40)).toMatch(/^HTTP\/1\.1 200 /);
  });
});
