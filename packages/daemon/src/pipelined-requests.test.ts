import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { get, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { openListener, type Listener } from './listener.js';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

async function listen(handle: RequestListener): Promise<Listener & { readonly port: number }> {
  const listener = await openListener({
    ip: '127.0.0.1',
    port: 0,
    handle,
    onClientError: (_error, socket) => socket.destroy(),
    onError: () => undefined,
  });
  open.push({ close: () => listener.close(0) });
  return { ...listener, port: Number(new URL(listener.addresses[0] ?? '').port) };
}

/** Sends bytes and reads until the server closes the connection. */
function send(port: number, bytes: string): { readonly socket: Socket; readonly answers: Promise<string> } {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  open.push({ close: () => socket.destroy() });
  socket.write(bytes);
  return { socket, answers: text(socket) };
}

const request = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const lastOne = request('/last', 'Connection: close\r\n');
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
/** Returns the bodies of the responses, which are the request paths. */
const pathsOf = (answers: string) => [...answers.matchAll(/\r\n\r\n(\/[a-z]+)/g)].map(([, path]) => path);

describe('pipelined requests', () => {
  it('run one at a time, and their answers come in order', async () => {
    const running = new Set<ServerResponse>();
    let most = 0;
    const { port } = await listen((incoming, response) => {
      running.add(response);
      most = Math.max(most, running.size);
      response.once('close', () => running.delete(response));
      incoming.resume().once('end', () => setImmediate(() => response.end(incoming.url)));
    });
    const body = 'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody';
    const { answers } = send(port, `${request('/first')}${body.repeat(20)}${request('/get').repeat(20)}${lastOne}`);
    const expected = ['/first', ...Array<string>(20).fill('/body'), ...Array<string>(20).fill('/get'), '/last'];
    expect([pathsOf(await answers), most]).toEqual([expected, 1]);
  });

  it('stay in the socket buffers while the first request runs', async () => {
    let first: { readonly response: ServerResponse; readonly socket: Socket } | undefined;
    const { port } = await listen((incoming, response) => {
      if (incoming.url === '/first') first = { response, socket: incoming.socket };
      else response.end(incoming.url);
    });
    const long = request('/long', `X: ${'x'.repeat(12_000)}\r\n`);
    const { socket, answers } = send(port, `${request('/first')}${long.repeat(50)}${lastOne}`);
    while (socket.bytesWritten === 0 || socket.writableLength > 0 || first === undefined) await nextTurn();
    // After answering other requests, the server would have read more, too.
    for (let round = 0; round < 5; round += 1) {
      const probe = get({ port, path: '/probe', agent: false });
      const [answer] = (await once(probe, 'response')) as [IncomingMessage]; // documented for this event
      expect(await text(answer)).toBe('/probe');
    }
    expect(first.socket.bytesRead).toBeLessThanOrEqual(4 * 65_536);
    first.response.end('/first');
    expect(pathsOf(await answers)).toEqual(['/first', ...Array<string>(50).fill('/long'), '/last']);
  });

  it('after the hundredth get no response: the last response has Connection: close', async () => {
    const { port } = await listen((incoming, response) => setImmediate(() => response.end(incoming.url)));
    const all = await send(port, request('/get').repeat(3000)).answers;
    expect(pathsOf(all)).toHaveLength(101);
    expect(all.match(/Connection: close/g)).toHaveLength(1);
    expect(all.lastIndexOf('Connection: close')).toBeGreaterThan(all.lastIndexOf('HTTP/1.1 200'));
  });

  it('never run after the client has disconnected', async () => {
    const ran: (string | undefined)[] = [];
    const { port } = await listen((incoming, response) => {
      ran.push(incoming.url);
      if (incoming.url === '/probe') response.end();
    });
    const { socket, answers } = send(port, request('/first').repeat(3));
    while (ran.length === 0) await nextTurn();
    socket.destroy();
    await answers.catch(() => undefined);
    for (let round = 0; round < 5; round += 1) {
      const probe = get({ port, path: '/probe', agent: false });
      const [answer] = (await once(probe, 'response')) as [IncomingMessage]; // documented for this event
      answer.resume();
    }
    expect(ran.filter((path) => path === '/first')).toHaveLength(1);
  });
});
