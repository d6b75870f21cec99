import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { selfSigned } from '../../test/support/self-signed.js';
import { MAX_STILL_CHECKS, UnreadAnswers } from './unread-answers.js';

/** More than the kernel's buffers on both sides. */
const LARGE = Buffer.alloc(64 * 1024 * 1024);

describe.each(['TCP', 'TLS'])('a connection over %s', (protocol) => {
  let server: Server;
  let client: Socket;
  /** The server's end of the connection. */
  let socket: Socket;
  let unread: UnreadAnswers;
  beforeEach(async () => {
    server = protocol === 'TLS' ? createTlsServer(selfSigned()) : createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // a TCP server has an AddressInfo
    const accepted = once(server, protocol === 'TLS' ? 'secureConnection' : 'connection');
    client =
      protocol === 'TLS'
        ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
        : connect(port, '127.0.0.1');
    client.on('error', () => undefined).pause();
    [socket] = (await accepted) as [Socket]; // Node documents this argument of the event
    unread = new UnreadAnswers([socket]);
  });
  afterEach(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });

  const checkTimes = (count: number): void => {
    for (let checks = 0; checks < count; checks += 1) unread.check();
  };

  /** Waits until the client has received nothing for many turns, because the buffers of the kernel are full. */
  async function filled(): Promise<void> {
    let [before, sameTurns] = [-1, 0];
    while (sameTurns < 1000) {
      await nextTurn();
      sameTurns = client.bytesRead === before ? sameTurns + 1 : 0;
      before = client.bytesRead;
    }
  }

  it('is closed if its client reads nothing, also if the daemon writes more', async () => {
    socket.write(LARGE);
    await filled();
    checkTimes(MAX_STILL_CHECKS);
    expect(socket.destroyed).toBe(false);
    socket.write('more');
    unread.check();
    expect(socket.destroyed).toBe(true);
  });

  it('stays open while its client reads parts of a large write', async () => {
    socket.write(LARGE);
    await filled();
    for (let rounds = 0; rounds < 3; rounds += 1) {
      checkTimes(MAX_STILL_CHECKS);
      const target = client.bytesRead + 8 * 1024 * 1024;
      client.resume();
      while (client.bytesRead < target) await nextTurn();
      client.pause();
      await filled();
    }
    checkTimes(MAX_STILL_CHECKS);
    expect([socket.destroyed, client.bytesRead < LARGE.length]).toEqual([false, true]);
  });

  it('stays open while nothing is left to send', async () => {
    socket.write('all');
    await once(client.resume(), 'data');
    while (socket.writableLength > 0) await nextTurn();
    checkTimes(3 * MAX_STILL_CHECKS);
    expect(socket.destroyed).toBe(false);
  });
});
