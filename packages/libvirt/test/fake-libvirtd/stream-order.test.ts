import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Link } from '../../src/link/link.js';
import { openLink } from '../../src/link/open-link.js';
import { domainProcedures } from '../../src/protocol/domain.js';
import { HEADER_BYTES, MessageStatus, remoteError } from '../../src/protocol/message.js';
import type { Procedure } from '../../src/protocol/procedure.js';
import { storageVolumeProcedures } from '../../src/protocol/storage.js';
import { openLocal } from '../../src/transport/open-local.js';
import type { OpenTransport } from '../../src/transport/transport.js';
import { parseUri } from '../../src/uri.js';
import { XdrWriter } from '../../src/xdr.js';
import { FakeLibvirtd, HANG, Refusal, replyTo, virError } from '../fake/fake-libvirtd.js';
import { until } from '../fake/until.js';

const { upload, download } = storageVolumeProcedures;
const { openConsole } = domainProcedures;
const transfer = { volume: { pool: 'p', name: 'v', key: '/v' }, offset: 0, length: 20, flags: 0 };
const consoleArgs = {
  domain: { name: 'vm', uuid: '00000000-0000-0000-0000-000000000001', id: 1 },
  deviceName: null,
  flags: 0,
};
const NOTHING = Buffer.alloc(0);
const CONTENT = 'a part in the middle';

/**
 * Messages of libvirtd for a small download: `D` data, `E` end, `X` error, `R` the reply to the
 * call.
 */
type Message = 'R' | 'D' | 'E' | 'X';

let fake: FakeLibvirtd;
let link: Link;
beforeEach(async () => {
  fake = await FakeLibvirtd.start();
  fake.onStream = (message, client) => {
    if (message.status === MessageStatus.ok) client.stream(download, message.serial, MessageStatus.ok, NOTHING);
  };
  link = openLink(fake.uri);
});
afterEach(async () => {
  await link.close();
  await fake.stop();
});

function errorPayload(text: string): Buffer {
  const writer = new XdrWriter();
  remoteError.encode(writer, virError(38, 18, text));
  return writer.finish();
}

/** Answers a stream call with the given messages, in one write. */
function answering<A>(procedure: Procedure<A, undefined>, order: readonly Message[]): void {
  fake.on(procedure, (_args, { client, serial }) => {
    client.socket.cork();
    for (const message of order) {
      if (message === 'R') client.write(replyTo(procedure, serial, undefined));
      else if (message === 'D') client.stream(procedure, serial, MessageStatus.continue, Buffer.from(CONTENT));
      else if (message === 'E') client.stream(procedure, serial, MessageStatus.continue, NOTHING);
      else client.stream(procedure, serial, MessageStatus.error, errorPayload('cannot read'));
    }
    client.socket.uncork();
    return HANG;
  });
}

/** Splits the chunks of the link's transport into pieces of `size` bytes. */
function cutInto(size: number): OpenTransport {
  const open = openLocal(parseUri(fake.uri));
  return (handlers, signal) =>
    open(
      {
        ...handlers,
        data: (chunk) => {
          for (let at = 0; at < chunk.length; at += size) handlers.data(chunk.subarray(at, at + size));
        },
      },
      signal,
    );
}

const download20 = async (): Promise<string> => (await buffer(await link.openStream(download, transfer))).toString();

// A separate thread of libvirtd 9.0 sends stream data, perhaps before the reply to the call. If the
// client dropped these messages, a download would be empty or would not end.
describe('a download with messages before the reply', () => {
  const orders: readonly (readonly Message[])[] = [
    ['R', 'D', 'E'],
    ['D', 'R', 'E'],
    ['D', 'E', 'R'],
  ];
  // The pieces: everything in one, single bytes, and pieces that end in the length word, in the header and after it.
  for (const size of [Infinity, 1, 3, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1]) {
    it.each(orders)(`is complete in the order %s %s %s, split into pieces of ${size} bytes`, async (...order) => {
      await link.close();
      link = openLink(fake.uri, { transport: cutInto(size) });
      answering(download, order);
      expect(await download20()).toBe(CONTENT);
    });
  }

  it('preserves the order of messages before and after the reply', async () => {
    fake.on(download, (_args, { client, serial }) => {
      const send = (text: string): void => {
        client.stream(download, serial, MessageStatus.continue, Buffer.from(text));
      };
      client.socket.cork();
      send('1');
      send('2');
      client.write(replyTo(download, serial, undefined));
      send('3');
      send('4');
      send('');
      client.socket.uncork();
      return HANG;
    });
    expect(await download20()).toBe('1234');
  });

  it('fails with an error message that precedes the reply', async () => {
    answering(download, ['D', 'X', 'R']);
    const stream = await link.openStream(download, transfer);
    await expect(buffer(stream)).rejects.toMatchObject({
      code: 'SYSTEM_ERROR',
      message: 'cannot read',
      procedure: 'storageVolDownload',
    });
  });

  it('fails to open if the reply is an error, and leaves only the control connection', async () => {
    fake.on(download, (_args, { client, serial }) => {
      client.stream(download, serial, MessageStatus.continue, Buffer.from(CONTENT));
      throw new Refusal(50, 18, 'Storage volume not found');
    });
    await expect(link.openStream(download, transfer)).rejects.toMatchObject({ code: 'NO_STORAGE_VOL' });
    await until('the stream’s connection to close', () => fake.clients.length === 1);
  });

  it('fails if the connection is lost before the reply', async () => {
    fake.on(download, (_args, { client, serial }) => {
      client.stream(download, serial, MessageStatus.continue, Buffer.from(CONTENT));
      client.socket.end();
      return HANG;
    });
    await expect(link.openStream(download, transfer)).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  });

  it('ignores data of another stream', async () => {
    fake.on(download, (_args, { client, serial }) => {
      client.socket.cork();
      client.stream(download, serial + 1, MessageStatus.continue, Buffer.from('not for this one'));
      client.stream(download, serial, MessageStatus.continue, Buffer.from(CONTENT));
      client.write(replyTo(download, serial, undefined));
      client.stream(download, serial, MessageStatus.continue, NOTHING);
      client.socket.uncork();
      return HANG;
    });
    expect(await download20()).toBe(CONTENT);
  });
});

it('an upload fails with the error that libvirtd sends before the reply', async () => {
  fake.on(upload, (_args, { client, serial }) => {
    client.stream(upload, serial, MessageStatus.error, errorPayload('No space left on device'));
    return undefined;
  });
  const stream = await link.openStream(upload, transfer);
  const failure = new Promise((resolve) => stream.once('error', resolve));
  expect(await failure).toMatchObject({ code: 'SYSTEM_ERROR', message: 'No space left on device' });
});

it('a console delivers output that precedes the reply', async () => {
  answering(openConsole, ['D', 'R']);
  const stream = await link.openStream(openConsole, consoleArgs);
  const [heard] = await new Promise<Buffer[]>((resolve) => stream.once('data', (chunk: Buffer) => resolve([chunk])));
  expect(String(heard)).toBe(CONTENT);
  stream.destroy();
});
