/** Clients that send slowly: they must not block the proxy or an upstream. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from '@jest/globals';
import { PUBLIC_MODEL } from '../harness/proxy.js';
import { waitFor } from '../harness/wait.js';
import { messages, useProxy } from './fixture.js';

const CROWD = 200;
const MB = 1_048_576;

describe('slow bodies', () => {
  const fixture = useProxy();
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  const dial = async (): Promise<Socket> => {
    const socket = connect({ port: fixture().proxy.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  const body = JSON.stringify({ model: PUBLIC_MODEL, messages });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`;

  it('are served when they are complete, even if they arrive byte by byte', async () => {
    const socket = await dial();
    socket.setNoDelay(true);
    let text = '';
    socket.on('data', (piece: Buffer) => (text += piece.toString()));
    const closed = once(socket, 'close');
    for (const byte of head + body) {
      await new Promise((resolve) => socket.write(byte, resolve));
    }
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text).toContain('You said: Hello');
  });

  it(`from ${CROWD} clients at once block no other client, and cause no request to the upstream`, async () => {
    const { upstream, works } = fixture();
    const crowd = await Promise.all(Array.from({ length: CROWD }, dial));
    for (const socket of crowd) socket.write(head + body.slice(0, 10));
    await works();
    for (const socket of crowd) socket.write(body.slice(10, 20));
    await works();
    expect(upstream.received).toHaveLength(2);
  });

  it('free their memory after their clients have closed the connection', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void; // the flag --expose-gc defines this function
    const heldMb = () => {
      collect();
      return process.memoryUsage().arrayBuffers / MB;
    };
    const before = heldMb();
    const piece = Buffer.alloc(10 * MB, 'x');
    for (let client = 0; client < 5; client += 1) {
      const socket = await dial();
      socket.write(head.replace(/Content-Length: .*/, `Content-Length: ${20 * MB}`) + '{"input":"');
      await new Promise((resolve) => socket.write(piece, resolve));
      socket.destroy();
    }
    // The clients sent 50 MB in total. Kernel buffers may still contain a part of it.
    await waitFor(
      () => (heldMb() - before < 25 ? true : undefined),
      () => `five incomplete bodies still use memory: ${heldMb() - before} MB`,
    );
  });
});
