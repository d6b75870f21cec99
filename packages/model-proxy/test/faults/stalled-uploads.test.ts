/**
 * Clients that stop in the middle of their upload, on the routes of models and raw pass-through.
 */
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { bothProviders, useRawProxy } from '../pass-through/fixture.js';
import { passTime, stopTime } from '../harness/stopped-time.js';
import { stableCount, waitFor } from '../harness/wait.js';

/** A client that has sent nothing for this time gets 408. */
const STALL_MS = 60_000;
/** More than all buffers between the client and the upstream can store, so the client must wait. */
const LARGE_BYTES = 64 * 1_048_576;

describe('an upload', () => {
  stopTime({ timers: 'all' });
  // The test moves the time by more than the default timeout before a TLS handshake can end.
  const fixture = useRawProxy({ config: (upstream) => bothProviders(upstream, ['connect_timeout: 3600']) });
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** Opens a connection to the proxy. Returns its socket and the answer so far. */
  const dial = (): { readonly socket: Socket; readonly answer: { text: string; isClosed: boolean } } => {
    const socket = connect(fixture().proxy.port, '127.0.0.1');
    sockets.push(socket);
    const answer = { text: '', isClosed: false };
    socket.on('data', (piece: Buffer) => (answer.text += piece.toString()));
    socket.on('error', () => undefined);
    socket.once('close', () => (answer.isClosed = true));
    return { socket, answer };
  };
  const closed = (answer: { readonly isClosed: boolean }): Promise<true> =>
    waitFor(
      () => (answer.isClosed ? true : undefined),
      () => 'the proxy does not close the connection',
    );
  const headOf = (path: string, type: string, length: number): string =>
    `POST ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`;

  describe.each([
    ['a model route', '/v1/chat/completions', 'application/json', '{"model":"gpt","messages":[]}'],
    ['raw pass-through', '/openai/v1/x', 'application/octet-stream', 'any bytes'],
  ])('to %s', (_name, path, type, body) => {
    it('gets 408 if the client stops sending for a minute', async () => {
      const { socket, answer } = dial();
      socket.write(headOf(path, type, body.length) + body.slice(0, -1));
      await passTime(STALL_MS / 2);
      expect(answer.text).toBe('');
      while (!answer.isClosed) await passTime(1000);
      expect(answer.text).toMatch(/^HTTP\/1\.1 408 [^]*did not arrive in time/);
      // Only raw pass-through has sent a part of the body to the upstream.
      await waitFor(
        () => (fixture().upstream.seen.every(({ outcome }) => outcome === 'aborted') ? true : undefined),
        () => 'the request upstream does not end',
      );
    });

    it('may take several minutes if bytes arrive every 20 seconds', async () => {
      const { socket, answer } = dial();
      socket.setNoDelay(true);
      socket.write(headOf(path, type, body.length));
      for (const byte of body) {
        await new Promise((resolve) => socket.write(byte, resolve));
        await passTime(20_000);
      }
      await closed(answer);
      expect(answer.text).toMatch(/^HTTP\/1\.1 200 /);
    });
  });

  it('gets no 408 while the client must wait because the upstream does not read', async () => {
    const { upstream } = fixture();
    let read: (() => void) | undefined;
    upstream.intercept = (request, response) => {
      read = () => {
        request.resume();
        request.once('end', () => response.end('read'));
      };
      return true;
    };
    const { socket, answer } = dial();
    socket.write(headOf('/openai/v1/x', 'application/octet-stream', LARGE_BYTES));
    socket.write(Buffer.alloc(LARGE_BYTES));
    await stableCount(
      () => socket.bytesWritten - socket.writableLength,
      () => 'the client never stopped',
    );
    await passTime(3 * STALL_MS);
    expect(answer).toEqual({ text: '', isClosed: false });
    read?.();
    await closed(answer);
    expect(answer.text).toMatch(/^HTTP\/1\.1 200 [^]*read/);
  });
});
