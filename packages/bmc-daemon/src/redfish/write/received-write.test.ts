import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { emptyAnswer } from '../answer.js';
import { createBodyReader } from '../body/body.js';
import type { Exchange } from '../exchange.js';
import { inTurn } from './received-write.js';
import { WriteTurns } from './write-turns.js';

it('inTurn rejects a waiting write with 499 if its client disconnects, and never starts the write', async () => {
  const writeTurns = new WriteTurns({ running: 1, slowMs: 1_000_000 });
  let end = (): void => undefined;
  const first = writeTurns.run(
    'other',
    () => false,
    () => new Promise<void>((resolve) => (end = resolve)),
  );
  const started: string[] = [];
  const write = inTurn({ readBody: createBodyReader(), writeTurns }, () => {
    started.push('write');
    return Promise.resolve(emptyAnswer(204));
  });
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
  const client = connect(port, '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
  const [request] = (await once(server, 'request')) as [IncomingMessage]; // the documented arguments of this event
  // An exchange with only the members that a write uses before its turn.
  const exchange = { request, requester: { user: 'a', address: '127.0.0.1' } } as unknown as Exchange;
  const outcome = Promise.resolve(write(exchange, {})).catch((error: unknown) => error);
  client.destroy();
  await once(request.socket, 'close');
  end();
  await first;
  expect(await outcome).toMatchObject({ status: 499 });
  expect(started).toEqual([]);
  server.close();
});
