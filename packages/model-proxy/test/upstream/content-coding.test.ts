import { brotliCompressSync, constants, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { deploymentAt, send, sendToEnd, upstreamFor } from './sent-request.js';
import { closingAfterEach } from './closing.js';

const closing = closingAfterEach();

async function start(answer: RequestListener) {
  const server = createServer((request, response) => {
    request.resume();
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing({
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  });
  const deployment = deploymentAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  return { deployment, upstream: closing(upstreamFor([deployment])) };
}

const text = JSON.stringify({ model: 'm', text: 'é'.repeat(100_000) });

describe('an answer with a Content-Encoding header', () => {
  it.each([
    ['gzip', gzipSync(text)],
    ['GZIP', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
    ['identity', Buffer.from(text)],
  ])('is decoded from %s, without its Content-Encoding and Content-Length', async (coding, body) => {
    const { deployment, upstream } = await start((_request, response) => {
      response.writeHead(200, { 'content-encoding': coding, 'content-length': body.length }).end(body);
    });
    for (let at = 0; at < 2; at += 1) {
      const sent = await sendToEnd(upstream, deployment);
      expect(sent.text === text).toBe(true);
      expect([sent.header('content-encoding'), sent.header('content-length')]).toEqual([undefined, undefined]);
      expect([sent.callbacks[0], sent.callbacks.at(-1), sent.error]).toEqual(['head', 'end', undefined]);
    }
  });

  it('arrives event by event', async () => {
    const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH });
    const { deployment, upstream } = await start((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.flushHeaders();
      gzip.pipe(response);
    });
    const sent = send(upstream, deployment);
    await sent.waitForHead();
    for (let at = 1; at <= 3; at += 1) {
      gzip.write('data: {}\n\n');
      await sent.waitForBytes(10 * at);
    }
    gzip.end();
    expect((await sent.waitForEnd()).text).toBe('data: {}\n\n'.repeat(3));
  });

  it('pauses while the client does not read', async () => {
    const large = Buffer.alloc(32 * 1024 * 1024);
    const { deployment, upstream } = await start((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(large, { level: 1 }));
    });
    let received = 0;
    const sent = send(upstream, deployment, {}, (chunk) => {
      received += chunk.length;
      sent.chunks.length = 0;
      sent.call?.pause();
    });
    await sent.waitForHead();
    while (!sent.ended) {
      const before = received;
      sent.call?.resume();
      await new Promise(setImmediate);
      // A single resume forwards a few chunks, not all decompressed megabytes.
      expect(received - before).toBeLessThan(1024 * 1024);
    }
    expect(received).toBe(large.length);
  });

  it('is an error if it cannot be decoded', async () => {
    const { deployment, upstream } = await start((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('this is not gzip');
    });
    const { error, callbacks } = await sendToEnd(upstream, deployment);
    expect([error?.status, error?.kind, callbacks]).toEqual([500, 'malformedAnswer', ['head', 'error']]);
    expect(error?.message).toContain('cannot be decoded: incorrect header check');
  });

  it.each([
    ['gzip', (zeros: Buffer) => gzipSync(zeros)],
    ['br', (zeros: Buffer) => brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ])('is an error after 64 MB if %s has made it more than 200 times smaller', async (coding, compress) => {
    const bomb = compress(Buffer.alloc(128 * 1024 * 1024));
    const { deployment, upstream } = await start((_request, response) => {
      response.writeHead(200, { 'content-encoding': coding }).end(bomb);
    });
    let received = 0;
    const sent = send(upstream, deployment, {}, (chunk) => {
      received += chunk.length;
      sent.chunks.length = 0;
    });
    const { error } = await sent.waitForEnd();
    expect(error?.message).toContain('cannot be decoded: more than 200 times its compressed size');
    expect(received).toBe(64 * 1024 * 1024);
  });

  it('is an error if it breaks off inside the coding', async () => {
    const { deployment, upstream } = await start((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(text).subarray(0, 40));
    });
    const { error } = await sendToEnd(upstream, deployment);
    expect([error?.kind, error?.message.includes('cannot be decoded: unexpected end of file')]).toEqual([
      'malformedAnswer',
      true,
    ]);
  });

  it('is an error before its head if the coding is unknown', async () => {
    const { deployment, upstream } = await start((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'zstd' }).end('?');
    });
    const { error, callbacks } = await sendToEnd(upstream, deployment);
    expect([error?.kind, callbacks]).toEqual(['malformedAnswer', ['error']]);
    expect(error?.message).toContain('answers with Content-Encoding "zstd", which the proxy did not ask for');
  });
});
