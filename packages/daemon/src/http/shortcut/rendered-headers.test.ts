import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { HeaderBlock, RenderedHeaders } from './rendered-headers.js';
import { renderHead } from './response-head.js';

const connection = { keepsAlive: true, idleSeconds: 5 };
/** A time that does not change between two heads. */
const date = ['date', 'Sat, 28 Nov 2026 19:00:00 GMT'];

/** Returns the head that Node's server sends for a list of headers, as latin1. */
async function headOfNode(headers: readonly string[]): Promise<string> {
  const server = createServer({ keepAliveTimeout: connection.idleSeconds * 1000 }, (_request, response) => {
    // Node sends a head in the encoding of the text that follows, by default UTF-8.
    response.writeHead(200, [...headers]).end('{}', 'latin1');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // the server listens on a port
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  let received = '';
  while (!received.includes('\r\n\r\n')) received += String(await once(socket, 'data'));
  socket.destroy();
  server.close();
  return received.slice(0, received.indexOf('\r\n\r\n') + 4);
}

describe('rendered headers', () => {
  it('give the bytes that Node sends for a list of the same headers', async () => {
    const own = ['x-version', '1', 'x-model', 'caf\xe9'];
    const more = ['content-type', 'application/json', 'content-length', '2', ...date];
    const rendered = new RenderedHeaders();
    rendered.addBlock(new HeaderBlock(own));
    rendered.addList(more);
    expect(renderHead(200, rendered, connection)).toEqual({
      text: await headOfNode([...own, ...more]),
      hasBody: true,
      isChunked: false,
      keepsAlive: true,
    });
    expect(rendered.byteLength).toBe(rendered.text.length);
  });

  it('end the connection if they contain Connection: close', () => {
    const rendered = new RenderedHeaders();
    rendered.addList(['connection', 'close', ...date]);
    expect(renderHead(200, rendered, connection)).toMatchObject({ keepsAlive: false, isChunked: true });
  });

  it.each([
    ['a line end', 'a', 'b\r\nset-cookie: c'],
    ['a control character', 'a', 'b\0'],
    ['a character that is not latin1', 'a', '€'],
    ['an invalid name', 'a b', 'c'],
    ['a name that changes the framing', 'transfer-encoding', 'chunked'],
  ])('reject %s, also in a block', (_what, name, value) => {
    expect(() => new RenderedHeaders().add(name, value)).toThrow();
    expect(() => new HeaderBlock([name, value])).toThrow();
  });

  it.each([
    ['content-length', '1'],
    ['connection', 'close'],
    ['date', 'now'],
  ])('reject %s in a block, because a block is for many responses', (name, value) => {
    expect(() => new HeaderBlock([name, value])).toThrow('a header about one response');
  });
});
