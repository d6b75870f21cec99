import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createNameServers, type NameLookup } from './name-lookup.js';

const A = 1;
const AAAA = 28;

/**
 * Answers as a name server for `both.test` (both families), `four.test` (IPv4) and `broken.test`
 * (SERVFAIL). Other names do not exist.
 */
function answer(query: Buffer): Buffer {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  const type = query.readUInt16BE(at + 1);
  const name = labels.join('.').toLowerCase();
  const data =
    type === A && (name === 'both.test' || name === 'four.test')
      ? Buffer.from([192, 0, 2, 80])
      : type === AAAA && name === 'both.test'
        ? Buffer.from('20010db8000000000000000000000080', 'hex')
        : undefined;
  const code = name === 'broken.test' ? 2 : name === 'both.test' || name === 'four.test' ? 0 : 3;
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(data === undefined ? 0 : 1, 6);
  head.writeUInt32BE(0, 8);
  const question = query.subarray(12, at + 5);
  if (data === undefined) return Buffer.concat([head, question]);
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  // Newer versions of c-ares cache answers. A TTL of 0 prevents that.
  record.writeUInt32BE(0, 6);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, question, record, data]);
}

describe('a name lookup', () => {
  let server: Socket;
  let asked: number;
  let address: string;
  beforeEach(async () => {
    asked = 0;
    server = createSocket('udp4', (query, { address: peer, port }) => {
      asked += 1;
      server.send(answer(query), port, peer);
    });
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    address = `127.0.0.1:${server.address().port}`;
  });
  afterEach(async () => {
    server.close();
    await once(server, 'close');
  });

  const lookUp = (lookup: NameLookup, name: string, family: 0 | 4 | 6 = 0): Promise<unknown> =>
    new Promise((resolve) =>
      lookup(name, { all: true, family }, (error, addresses) =>
        resolve(error === null ? addresses.map((one) => one.address) : error.code),
      ),
    );

  it('queries the given servers, for both families or one', async () => {
    const { lookup, use } = createNameServers();
    use([address]);
    await expect(lookUp(lookup, 'both.test')).resolves.toEqual(['192.0.2.80', '2001:db8::80']);
    await expect(lookUp(lookup, 'both.test', 6)).resolves.toEqual(['2001:db8::80']);
    await expect(lookUp(lookup, 'four.test')).resolves.toEqual(['192.0.2.80']);
    expect(asked).toBe(5);
  });

  it('reports an unknown name and a failing server with different codes', async () => {
    const { lookup, use } = createNameServers();
    use([address]);
    await expect(lookUp(lookup, 'four.test', 6)).resolves.toBe('ENOTFOUND');
    await expect(lookUp(lookup, 'none.test')).resolves.toBe('ENOTFOUND');
    await expect(lookUp(lookup, 'broken.test')).resolves.toBe('EAI_AGAIN');
  });

  it('sends no query for an address or for localhost, with or without servers', async () => {
    const { lookup, use } = createNameServers();
    use([address]);
    await expect(lookUp(lookup, '192.0.2.7')).resolves.toEqual(['192.0.2.7']);
    await expect(lookUp(lookup, 'LOCALHOST.')).resolves.toEqual(['127.0.0.1', '::1']);
    await expect(lookUp(lookup, 'images.localhost', 4)).resolves.toEqual(['127.0.0.1']);
    use([]);
    await expect(lookUp(lookup, 'localhost', 4)).resolves.toEqual(['127.0.0.1']);
    expect(asked).toBe(0);
  });
});
