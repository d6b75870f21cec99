import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { limitChunks, limitUnreadBodies } from './unread-body.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/**
 * Sends the head of a chunked request, waits for its response, and then sends the chunks and another request. Returns
 * the responses and the number of bytes that the server has read.
 * @param first a chunk that the handler waits for before it responds.
 */
async function send(
  handle: RequestListener,
  chunk: string,
  count: number,
  first = '',
): Promise<{ text: string; read: number }> {
  const server = createServer({ keepAliveTimeout: 0 }, handle);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
  let read = 0;
  server.on('connection', (socket) => {
    socket.on('close', () => (read = socket.bytesRead));
  });
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString()));
  socket.on('error', () => undefined); // The server may reset the connection.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write('POST /first HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  const encoded = (content: string) => `${content.length.toString(16)}\r\n${content}\r\n`;
  if (first !== '') socket.write(encoded(first));
  while (!text.includes('/first')) await new Promise((resolve) => setImmediate(resolve));
  socket.write(`${encoded(chunk).repeat(count)}0\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await closed;
  while (read === 0) await new Promise((resolve) => setImmediate(resolve));
  return { text, read };
}

const answer: RequestListener = (request, response) => response.end(request.url);

describe('a body that the server discards', () => {
  it('closes the connection when it arrives in many small chunks', async () => {
    const { text, read } = await send(limitUnreadBodies(answer), 'x', 1_000_000);
    expect(text).toContain('/first');
    expect(text).not.toContain('/second');
    expect(read).toBeLessThan(1_000_000);
  });

  it('closes the connection even if the handler paused the request', async () => {
    const paused: RequestListener = (request, response) => {
      request.once('data', () => {
        request.pause();
        answer(request, response);
      });
    };
    const { text } = await send(limitUnreadBodies(paused), 'x', 1_000_000, 'x');
    expect(text).toContain('/first');
    expect(text).not.toContain('/second');
  });

  it('leaves the connection open when it arrives in large chunks', async () => {
    const { text } = await send(limitUnreadBodies(answer), 'x'.repeat(1024), 20_000);
    expect(text).toContain('/second');
  });

  it('closes the connection even while the response is not complete', async () => {
    const waiting: RequestListener = (request, response) => {
      response.writeHead(401, { 'Content-Length': '6' });
      response.write('/first');
      limitChunks(request);
    };
    const { text } = await send(waiting, 'x', 1_000_000);
    expect(text).toMatch(/^HTTP\/1.1 401 .*\/first$/s);
  });
});
