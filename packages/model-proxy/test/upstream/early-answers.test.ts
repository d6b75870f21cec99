/**
 * Upstreams that answer before they have read the whole request, and close the connection, which
 * resets it.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { call } from '../harness/call.js';
import { startTestProxy, type TestProxy } from '../harness/proxy.js';
import { deploymentAt, sendToEnd, upstreamFor } from './sent-request.js';

const REFUSAL = '{"error":{"message":"too large"}}';
/** A server in its own process: in this process, the proxy would always read the answer before the reset. */
const EARLY_SERVER = `
  import { createServer } from 'node:net';
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => {
      socket.write('HTTP/1.1 413 Large\\r\\nconnection: close\\r\\ncontent-type: application/json\\r\\ncontent-length: ${REFUSAL.length}\\r\\n\\r\\n${REFUSAL}');
      socket.destroy();
    });
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

let earlyServer: ChildProcess;
let apiBase: string;
let proxy: TestProxy;
beforeAll(async () => {
  earlyServer = spawn(process.execPath, ['--input-type=module', '-e', EARLY_SERVER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (earlyServer.stdout === null) throw new Error('the output of the server is not a pipe');
  const [port] = (await once(earlyServer.stdout, 'data')) as [Buffer]; // no encoding is set
  apiBase = `http://127.0.0.1:${String(port).trim()}/v1`;
  proxy = await startTestProxy(
    `model_list: [{model_name: m, litellm_params: {model: openai/m, api_base: '${apiBase}', api_key: k, use_in_pass_through: true}}]\n`,
  );
});
afterAll(async () => {
  await proxy.close();
  earlyServer.kill();
});

const ROUNDS = 20;
const body = Buffer.alloc(20_000_000, 'a');

describe('an answer that comes before the whole request has been sent', () => {
  it('is read although the connection is reset after it', async () => {
    const deployment = deploymentAt(apiBase);
    const upstream = upstreamFor([deployment]);
    const answers: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const sent = await sendToEnd(upstream, deployment, { body: [body] });
      answers.push(`${sent.status} ${sent.text} ${sent.error?.message ?? ''}`.trim());
    }
    await upstream.close();
    expect(answers).toEqual(Array(ROUNDS).fill(`413 ${REFUSAL}`));
  });

  it('is also read for a raw request that is still being sent', async () => {
    const answers: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const { status, text } = await call(`${proxy.url}/openai/v1/x`, {
        body,
        headers: { 'content-type': 'application/octet-stream' },
      });
      answers.push(`${status} ${text}`);
    }
    expect(answers).toEqual(Array(ROUNDS).fill(`413 ${REFUSAL}`));
  });
});
