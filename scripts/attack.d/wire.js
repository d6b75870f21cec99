/** Sends the requests of attackers and of ordinary clients, and starts servers. All connections are on loopback. */
import { request as httpRequest } from 'node:http';
import { connect, createServer } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Default time limit of an answer, in seconds. Even on a busy host, an ordinary answer is much faster. */
export const PATIENCE = 60;

/**
 * Sends a request on a new connection.
 * @param options `{method, path, headers, body, seconds, from}`. A body that is neither a string
 *   nor a Buffer is sent as JSON. With a body, `Content-Type` is `application/json`, unless `headers` has another one.
 *   Headers with null are omitted. `from` is the client's own address.
 * @returns `{status, headers, text, json}`; json is undefined if the text is not JSON.
 * @throws {Error} if no complete answer came in time, or if the connection failed.
 */
export function sendRequest(port, { method = 'GET', path = '/', headers = {}, body, seconds = PATIENCE, from }) {
  const text = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const defaults =
    text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
  const name = `${method} ${path.slice(0, 80)}`;
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        agent: false,
        localAddress: from,
        headers: present({ ...defaults, ...headers }),
      },
      (response) => {
        const pieces = [];
        response.on('data', (piece) => pieces.push(piece));
        response.once('error', reject);
        response.once('end', () => {
          const answer = Buffer.concat(pieces).toString();
          resolve({ status: response.statusCode, headers: response.headers, text: answer, json: parse(answer) });
        });
      },
    );
    sent.once('error', (error) => reject(new Error(`${name}: ${error.message}`, { cause: error })));
    void delay(seconds * 1000, undefined, { ref: false }).then(() =>
      sent.destroy(new Error(`no whole answer within ${seconds} s`)),
    );
    sent.end(text);
  });
}

/** Returns the headers without those that are null. */
const present = (headers) => Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null));

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Writes bytes, and reads until the peer closes, `until` returns true, or the time ends.
 * @returns `{text, isClosed}`. The text is the received bytes as latin1. `isClosed`: the peer closed the connection, or
 *   the connection failed.
 */
export async function exchange(port, bytes, { seconds = PATIENCE, until = () => false } = {}) {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  let text = '';
  let isClosed = false;
  await new Promise((resolve) => {
    const watch = (piece) => {
      text += piece;
      if (until(text)) resolve();
    };
    socket.setEncoding('latin1').on('data', watch);
    socket.on('error', () => undefined);
    for (const event of ['end', 'close']) {
      socket.once(event, () => {
        isClosed = true;
        resolve();
      });
    }
    void delay(seconds * 1000, undefined, { ref: false }).then(resolve);
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  });
  socket.destroy();
  return { text, isClosed };
}

/** Returns the status of the answer at the beginning of a text; 0 if there is none. */
export const firstStatus = (text) => Number(/^HTTP\/1\.[01] (\d{3}) /.exec(text)?.[1] ?? 0);

/** Returns all statuses in a text of pipelined answers. */
export const statuses = (text) => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/**
 * Starts connections that send `bytes` and read nothing. The last ones may not be connected yet.
 * @returns a function that closes the connections.
 */
export async function openMany(port, count, bytes = '') {
  const sockets = [];
  for (let opened = 0; opened < count; opened += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
    // After each 200 connections, waits for the last of them, because the kernel's queue of new connections is limited.
    if (opened % 200 === 199 && socket.connecting) await Promise.race([once(socket, 'connect'), delay(5000)]);
    socket.pause();
    if (bytes !== '') socket.write(bytes);
  }
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

/**
 * Starts a TCP server with the handler `serve(socket)`.
 * @returns `{port, close}`. `close` also closes the connections.
 */
export async function listen(serve) {
  const sockets = new Set();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: server.address().port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Writes the same bytes repeatedly, with a pause after each write, until the connection is closed. */
export function repeat(socket, bytes, pauseMs) {
  const next = () => {
    if (socket.writable) socket.write(bytes, () => setTimeout(next, pauseMs).unref());
  };
  next();
}
