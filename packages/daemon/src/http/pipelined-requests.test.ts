import { afterEach, describe, expect, it } from '@jest/globals';
import { EventEmitter, once } from 'node:events';
import { get, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { openListener, type Listener } from '../network/listener.js';

const toClose: { close(): unknown }[] = [];

afterEach(async () => {
  await Promise.all(toClose.splice(0).map((one) => one.close()));
});

async function listen(handle: RequestListener): Promise<Listener & { readonly port: number }> {
  const listener = await openListener({
    ip: '127.0.0.1',
    port: 0,
    handle,
    onClientError: (_error, socket) => socket.destroy(),
    onError: () => undefined,
  });
  toClose.push({ close: () => listener.close(0) });
  return { ...listener, port: Number(new URL(listener.addresses[0] ?? '').port) };
}

/** Sends bytes and reads until the server closes the connection. */
function send(port: number, bytes: string): { readonly socket: Socket; readonly answers: Promise<string> } {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  toClose.push({ close: () => socket.destroy() });
  socket.write(bytes);
  return { socket, answers: text(socket) };
}

const request = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const lastOne = request('/last', 'Connection: close\r\n');
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
/** Returns the bodies of the responses, which are the request paths. */
const pathsOf = (answers: string) => [...answers.matchAll(/\r\n\r\n(\/[a-z]+)/g)].map(([, path]) => path);

/**
 * Sends requests on other connections. After their responses the server has read what arrived
 * before.
 */
async function probe(port: number, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const [answer] = (await once(get({ port, path: '/probe', agent: false }), 'response')) as [IncomingMessage]; // the documented arguments of this event
    await text(answer);
  }
}

describe('pipelined requests', () => {
  it('run one at a time, and their answers come in order', async () => {
    const running = new Set<ServerResponse>();
    let max = 0;
    const { port } = await listen((incoming, response) => {
      running.add(response);
      max = Math.max(max, running.size);
      response.once('close', () => running.delete(response));
      incoming.resume().once('end', () => setImmediate(() => response.end(incoming.url)));
    });
    const body = 'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody';
    const { answers } = send(port, `${request('/first')}${body.repeat(20)}${request('/get').repeat(20)}${lastOne}`);
    const expected = ['/first', ...Array<string>(20).fill('/body'), ...Array<string>(20).fill('/get'), '/last'];
    expect([pathsOf(await answers), max]).toEqual([expected, 1]);
  });

  it('close the connection if more than a hundred wait, and no waiting request runs', async () => {
    let ran = 0;
    const { port } = await listen((incoming, response) => {
      ran += 1;
      if (incoming.url === '/probe') response.end();
    });
    const { answers } = send(port, request('/get').repeat(3000));
    expect(await answers.catch(() => '')).toBe('');
    await probe(port, 5);
    expect(ran).toBe(1 + 5);
  });

  it('keep the connection if at most a hundred wait, however slowly the last one arrives', async () => {
    const { port } = await listen((incoming, response) => {
      incoming.resume().once('end', () => setImmediate(() => response.end(incoming.url)));
    });
    const body = 'POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\n';
    const { socket, answers } = send(port, `${request('/get').repeat(100)}${body}`);
    await probe(port, 5);
    socket.write('body');
    expect(pathsOf(await answers)).toEqual([...Array<string>(100).fill('/get'), '/body']);
  });

  it('never run after the client has disconnected, and the running request ends at once', async () => {
    const ran: (string | undefined)[] = [];
    const responses = new EventEmitter();
    const { port } = await listen((incoming, response) => {
      ran.push(incoming.url);
      if (incoming.url === '/probe') response.end();
      else response.once('close', () => responses.emit('close'));
    });
    const closed = once(responses, 'close');
    const { socket, answers } = send(port, request('/first').repeat(3));
    while (ran.length === 0) await nextTurn();
    socket.destroy();
    await answers.catch(() => undefined);
    await closed;
    await probe(port, 5);
    expect(ran.filter((path) => path === '/first')).toHaveLength(1);
  });
});
