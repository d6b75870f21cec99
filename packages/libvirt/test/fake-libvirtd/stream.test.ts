import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Link } from '../../src/link/link.js';
import { openLink } from '../../src/link/open-link.js';
import { authProcedures } from '../../src/protocol/auth.js';
import { connectProcedures } from '../../src/protocol/connect.js';
import { domainProcedures } from '../../src/protocol/domain.js';
import { MessageStatus, remoteError, STREAM_CHUNK_BYTES } from '../../src/protocol/message.js';
import { storageVolumeProcedures } from '../../src/protocol/storage.js';
import type { LibvirtStream } from '../../src/stream.js';
import { XdrWriter } from '../../src/xdr.js';
import {
  type FakeCall,
  type FakeClient,
  FakeLibvirtd,
  HANG,
  Refusal,
  replyTo,
  virError,
} from '../fake/fake-libvirtd.js';
import { failureOf, until } from '../fake/until.js';

const { upload, download } = storageVolumeProcedures;
const { openConsole } = domainProcedures;
const transfer = { volume: { pool: 'p', name: 'v', key: '/v' }, offset: 0, length: 0, flags: 0 };
const consoleArgs = {
  domain: { name: 'vm', uuid: '00000000-0000-0000-0000-000000000001', id: 1 },
  deviceName: null,
  flags: 0,
};
const NOTHING = Buffer.alloc(0);

let fake: FakeLibvirtd;
let link: Link;
/** The server side of the latest stream. */
let peer: { readonly client: FakeClient; readonly serial: number };

beforeEach(async () => {
  fake = await FakeLibvirtd.start();
  for (const procedure of [upload, download]) {
    fake.on(procedure, (_args, call) => {
      peer = call;
      return undefined;
    });
  }
  fake.on(openConsole, (_args, call) => {
    peer = call;
    return undefined;
  });
  link = openLink(fake.uri);
});
afterEach(async () => {
  await link.close();
  await fake.stop();
});

/** Encodes an error as the payload of a stream message. */
function errorPayload(code: number, text: string): Buffer {
  const writer = new XdrWriter();
  remoteError.encode(writer, virError(code, 18, text));
  return writer.finish();
}

/** Makes the fake confirm the end of a stream, as libvirtd does. */
function confirming(procedure: typeof upload | typeof openConsole): void {
  fake.onStream = (message, client) => {
    if (message.status === MessageStatus.ok) client.stream(procedure, message.serial, MessageStatus.ok, NOTHING);
  };
}

/** Reads a stream to its end. */
async function readAll(stream: LibvirtStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const statuses = (): number[] => peer.client.streamMessages.map((message) => message.status);
/** Waits until only the control connection is open. Each stream has a connection of its own. */
const streamConnectionClosed = (): Promise<void> =>
  until('the stream’s connection to close', () => fake.clients.length === 1);

describe('an upload', () => {
  it('sends messages of at most 262,120 bytes, and completes when libvirtd confirms its end', async () => {
    confirming(upload);
    const data = Buffer.alloc(1_000_001, 'rackless');
    const stream = await link.openStream(upload, transfer);
    await pipeline([data.subarray(0, 600_000), NOTHING, data.subarray(600_000)], stream);
    const messages = peer.client.streamMessages;
    expect(Buffer.concat(messages.map((message) => message.payload)).equals(data)).toBe(true);
    expect(messages.map((message) => message.payload.length)).toEqual([
      STREAM_CHUNK_BYTES,
      STREAM_CHUNK_BYTES,
      600_000 - 2 * STREAM_CHUNK_BYTES,
      STREAM_CHUNK_BYTES,
      400_001 - STREAM_CHUNK_BYTES,
      0,
    ]);
    expect(new Set(messages.map((message) => message.serial))).toEqual(new Set([peer.serial]));
    expect(statuses().at(-1)).toBe(MessageStatus.ok);
    await streamConnectionClosed();
  });

  it('does not finish before libvirtd confirms its end', async () => {
    const stream = await link.openStream(upload, transfer);
    let finished = false;
    stream.once('finish', () => (finished = true));
    stream.end('data');
    await until('the end to arrive', () => statuses().at(-1) === MessageStatus.ok);
    await nextTurn();
    expect(finished).toBe(false);
    peer.client.stream(upload, peer.serial, MessageStatus.ok, NOTHING);
    await until('the confirmation', () => finished);
  });

  it('fails with an error that libvirtd sends during the transfer', async () => {
    fake.onStream = (message, client) => {
      if (client.streamBytes > 1_000_000) {
        client.stream(upload, message.serial, MessageStatus.error, errorPayload(38, 'No space left on device'));
        fake.onStream = () => undefined;
      }
    };
    const stream = await link.openStream(upload, transfer);
    const chunk = Buffer.alloc(100_000);
    const endless = function* (): Generator<Buffer> {
      for (;;) yield chunk;
    };
    expect(await failureOf(pipeline(endless(), stream))).toMatchObject({
      code: 'SYSTEM_ERROR',
      domain: 'STORAGE',
      message: 'No space left on device',
      procedure: 'storageVolUpload',
    });
    await streamConnectionClosed();
    // libvirtd has already closed the stream, so the client sends no abort.
    expect(statuses()).not.toContain(MessageStatus.error);
  });

  it('fails with an error that libvirtd sends at the end', async () => {
    fake.onStream = (message, client) => {
      if (message.status === MessageStatus.ok) {
        client.stream(upload, message.serial, MessageStatus.error, errorPayload(38, 'cannot sync'));
      }
    };
    const stream = await link.openStream(upload, transfer);
    await expect(pipeline([Buffer.from('x')], stream)).rejects.toMatchObject({ message: 'cannot sync' });
  });

  it('stops reading its source while libvirtd reads nothing', async () => {
    confirming(upload);
    const stream = await link.openStream(upload, transfer);
    peer.client.socket.pause();
    let produced = 0;
    const total = 64;
    const source = async function* (): AsyncGenerator<Buffer> {
      for (; produced < total; produced += 1) {
        yield Buffer.alloc(STREAM_CHUNK_BYTES);
        await nextTurn();
      }
    };
    const done = pipeline(source(), stream);
    // The source has stopped if many event loop iterations bring no more data.
    for (let still = 0; still < 50;) {
      const before = produced;
      await nextTurn();
      still = produced === before ? still + 1 : 0;
    }
    expect(produced).toBeLessThan(8);
    peer.client.socket.resume();
    await done;
    expect(peer.client.streamBytes).toBe(total * STREAM_CHUNK_BYTES);
  });

  it('fails to open if libvirtd rejects it, and leaves only the control connection', async () => {
    fake.on(upload, () => {
      throw new Refusal(50, 18, 'Storage volume not found');
    });
    await expect(link.openStream(upload, transfer)).rejects.toMatchObject({ code: 'NO_STORAGE_VOL' });
    await streamConnectionClosed();
  });

  it('fails if its connection is lost', async () => {
    const stream = await link.openStream(upload, transfer);
    const failure = failureOf(pipeline([Buffer.from('x')], stream));
    await until('the data', () => peer.client.streamBytes > 0);
    peer.client.drop();
    expect(await failure).toMatchObject({ code: 'CONNECTION_LOST', procedure: 'storageVolUpload', mayHaveRun: true });
  });
});

describe('a download', () => {
  it('delivers all data, and confirms the end before the reader sees it', async () => {
    const data = Buffer.alloc(1_000_001, 'rackless');
    // The fake sends the data directly after the reply, so the client must open the stream before it handles the data.
    fake.on(download, (_args, call) => {
      peer = call;
      call.client.write(replyTo(download, call.serial, undefined));
      for (let at = 0; at < data.length; at += STREAM_CHUNK_BYTES) {
        call.client.stream(download, call.serial, MessageStatus.continue, data.subarray(at, at + STREAM_CHUNK_BYTES));
      }
      call.client.stream(download, call.serial, MessageStatus.continue, NOTHING);
      return HANG;
    });
    confirming(download);
    const stream = await link.openStream(download, transfer);
    expect((await readAll(stream)).equals(data)).toBe(true);
    expect(statuses()).toEqual([MessageStatus.ok]);
    await streamConnectionClosed();
  });

  it('fails if libvirtd sends an error in the same write as the reply', async () => {
    fake.on(download, (_args, call) => {
      peer = call;
      call.client.socket.cork();
      call.client.write(replyTo(download, call.serial, undefined));
      call.client.stream(download, call.serial, MessageStatus.error, errorPayload(38, 'cannot read'));
      call.client.socket.uncork();
      return HANG;
    });
    const stream = await link.openStream(download, transfer);
    await expect(readAll(stream)).rejects.toMatchObject({ code: 'SYSTEM_ERROR', message: 'cannot read' });
  });

  it('fails with PROTOCOL if libvirtd sends a malformed error', async () => {
    const stream = await link.openStream(download, transfer);
    peer.client.stream(download, peer.serial, MessageStatus.error, Buffer.from('junk'));
    await expect(readAll(stream)).rejects.toMatchObject({ code: 'PROTOCOL' });
  });

  it('makes libvirtd wait while nothing reads it, without losing the connection', async () => {
    await link.close();
    link = openLink(fake.uri, { keepalive: { intervalMs: 10, count: 10 } });
    const chunk = Buffer.alloc(STREAM_CHUNK_BYTES);
    const total = 64;
    const stream = await link.openStream(download, transfer);
    // The client does not let libvirtd send PINGs on this connection, because it would not read them.
    const expected = [authProcedures.list, connectProcedures.open, download];
    expect(peer.client.calls).toEqual(expected.map(({ number }) => number));
    let sent = 0;
    const send = (): void => {
      while (sent < total) {
        sent += 1;
        if (!peer.client.stream(download, peer.serial, MessageStatus.continue, chunk)) {
          peer.client.socket.once('drain', send);
          return;
        }
      }
      peer.client.stream(download, peer.serial, MessageStatus.continue, NOTHING);
    };
    send();
    // The test waits for longer than the keepalive limit. The PINGs of the control connection measure the time:
    // one PING takes two intervals.
    const pings = (): number => fake.clients[0]?.pings ?? 0;
    const before = pings();
    await until('time to pass', () => pings() > before + 15);
    expect(sent).toBeLessThan(10);
    fake.onStream = (message, client) => client.stream(download, message.serial, MessageStatus.ok, NOTHING);
    let received = 0;
    for await (const data of stream) received += (data as Buffer).length;
    expect(received).toBe(total * STREAM_CHUNK_BYTES);
  });

  it('buffers data for its reader while more data arrives', async () => {
    confirming(download);
    const stream = await link.openStream(download, transfer);
    const parts = Array.from({ length: 20 }, (_, number) => `part ${number};`);
    for (const part of parts) {
      const before = stream.readableLength;
      peer.client.stream(download, peer.serial, MessageStatus.continue, Buffer.from(part));
      await until('the part', () => stream.readableLength > before);
    }
    peer.client.stream(download, peer.serial, MessageStatus.continue, NOTHING);
    expect((await readAll(stream)).toString()).toBe(parts.join(''));
  });

  it('sends an abort to libvirtd when its reader stops early', async () => {
    const stream = await link.openStream(download, transfer);
    peer.client.stream(download, peer.serial, MessageStatus.continue, Buffer.from('some'));
    for await (const chunk of stream) {
      expect(String(chunk)).toBe('some');
      break;
    }
    await until('the abort', () => statuses().includes(MessageStatus.error));
    await streamConnectionClosed();
  });
});

describe('a console', () => {
  it('transfers bytes both ways until the client ends it', async () => {
    fake.onStream = (message, client) => {
      if (message.status === MessageStatus.continue) {
        client.stream(
          openConsole,
          message.serial,
          MessageStatus.continue,
          Buffer.from(`echo ${message.payload.toString()}`),
        );
      } else client.stream(openConsole, message.serial, MessageStatus.ok, NOTHING);
    };
    const stream = await link.openStream(openConsole, consoleArgs);
    stream.write('hello');
    const heard: string[] = [];
    for await (const chunk of stream) {
      heard.push(String(chunk));
      stream.end();
    }
    expect(heard).toEqual(['echo hello']);
    await streamConnectionClosed();
  });

  it('ends when the guest side closes', async () => {
    confirming(openConsole);
    const stream = await link.openStream(openConsole, consoleArgs);
    peer.client.stream(openConsole, peer.serial, MessageStatus.continue, NOTHING);
    expect(await readAll(stream)).toEqual(NOTHING);
    await until('the acknowledgement', () => statuses().includes(MessageStatus.ok));
    await streamConnectionClosed();
  });
});

describe('aborting a stream', () => {
  it('with abort() sends an abort to libvirtd and emits the reason', async () => {
    const stream = await link.openStream(upload, transfer);
    const failure = new Promise((resolve) => stream.once('error', resolve));
    stream.write('half');
    stream.abort(new Error('enough'));
    expect(await failure).toHaveProperty('message', 'enough');
    await until('the abort', () => statuses().includes(MessageStatus.error));
    await streamConnectionClosed();
  });

  it('with a signal that is aborted before the opening opens no second connection', async () => {
    await link.connected();
    const signal = AbortSignal.abort();
    await expect(link.openStream(upload, transfer, { signal })).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    expect(fake.everyClient).toHaveLength(1);
  });

  it('with its signal ends it during and after the opening', async () => {
    const controller = new AbortController();
    const stream = await link.openStream(upload, transfer, { signal: controller.signal });
    const failure = new Promise((resolve) => stream.once('error', resolve));
    fake.on(upload, () => HANG);
    const opening = failureOf(link.openStream(upload, transfer, { signal: controller.signal }));
    await until('the second opening', () =>
      fake.clients.some((client) => client.calls.includes(upload.number) && client !== peer.client),
    );
    controller.abort(new Error('enough'));
    expect(await failure).toMatchObject({ code: 'CALL_ABORTED' });
    expect(await opening).toMatchObject({ code: 'CALL_ABORTED' });
    await streamConnectionClosed();
  });

  it('by closing the link ends it with LINK_CLOSED', async () => {
    const stream = await link.openStream(upload, transfer);
    const failure = new Promise((resolve) => stream.once('error', resolve));
    await link.close();
    expect(await failure).toMatchObject({ code: 'LINK_CLOSED' });
    await until('every connection to close', () => fake.clients.length === 0);
  });

  it('closes the connection only after libvirtd has answered the abort', async () => {
    fake.answersAborts = false;
    const stream = await link.openStream(openConsole, consoleArgs);
    stream.destroy();
    await until('the abort', () => statuses().includes(MessageStatus.error));
    // Data that libvirtd sent before it received the abort.
    peer.client.stream(openConsole, peer.serial, MessageStatus.continue, Buffer.from('late'));
    await sleep(200);
    expect(fake.clients).toHaveLength(2);
    peer.client.stream(openConsole, peer.serial, MessageStatus.ok, NOTHING);
    await streamConnectionClosed();
  });

  it('finds the answer to the abort behind data that was not read', async () => {
    const stream = await link.openStream(download, transfer);
    for (let sent = 0; sent < 8; sent += 1) {
      peer.client.stream(download, peer.serial, MessageStatus.continue, Buffer.alloc(STREAM_CHUNK_BYTES));
    }
    await until('the reader to stop', () => stream.readableLength > 0);
    stream.destroy();
    await streamConnectionClosed();
  });

  it('closes the connection even if libvirtd answers the abort with an error', async () => {
    fake.answersAborts = false;
    const stream = await link.openStream(openConsole, consoleArgs);
    stream.destroy();
    await until('the abort', () => statuses().includes(MessageStatus.error));
    peer.client.stream(openConsole, peer.serial, MessageStatus.error, errorPayload(38, 'cannot abort'));
    await streamConnectionClosed();
  });

  it.each(['the stream', 'the link'])(
    'makes the close of the link wait for the answer, if the client has closed %s first',
    async (what) => {
      fake.answersAborts = false;
      const stream = await link.openStream(openConsole, consoleArgs);
      stream.on('error', () => undefined);
      if (what === 'the stream') stream.destroy();
      let isClosed = false;
      const closing = link.close().then(() => (isClosed = true));
      await until('the abort', () => statuses().includes(MessageStatus.error));
      await sleep(200);
      expect({ isClosed, clients: fake.clients.length }).toEqual({ isClosed: false, clients: 1 });
      peer.client.stream(openConsole, peer.serial, MessageStatus.ok, NOTHING);
      await closing;
      await until('every connection to close', () => fake.clients.length === 0);
    },
  );

  it('waits at least 3 s for the answer of a silent libvirtd, but not forever', async () => {
    fake.answersAborts = false;
    const stream = await link.openStream(openConsole, consoleArgs);
    stream.destroy();
    const start = performance.now();
    await link.close();
    const seconds = (performance.now() - start) / 1000;
    expect(seconds).toBeGreaterThan(2.9);
    expect(seconds).toBeLessThan(20);
    await until('every connection to close', () => fake.clients.length === 0);
  });

  it('does not wait any longer if the connection is lost', async () => {
    fake.answersAborts = false;
    const stream = await link.openStream(openConsole, consoleArgs);
    stream.destroy();
    await until('the abort', () => statuses().includes(MessageStatus.error));
    const start = performance.now();
    const closing = link.close();
    peer.client.drop();
    await closing;
    expect(performance.now() - start).toBeLessThan(2_500);
  });

  it('does not wait if libvirtd has already ended the stream', async () => {
    const stream = await link.openStream(download, transfer);
    peer.client.stream(download, peer.serial, MessageStatus.continue, Buffer.from('unread'));
    peer.client.stream(download, peer.serial, MessageStatus.ok, NOTHING);
    await until('the end of the stream', () => !stream.isOpenAtServer);
    expect(stream.readableLength).toBeGreaterThan(0);
    stream.on('error', () => undefined);
    const start = performance.now();
    await link.close();
    expect(performance.now() - start).toBeLessThan(2_500);
    expect(statuses()).not.toContain(MessageStatus.error);
  });

  it('ends a stream that libvirtd opens after the client has aborted the opening', async () => {
    let late: FakeCall | undefined;
    fake.on(openConsole, (_args, call) => {
      late = call;
      return HANG;
    });
    const controller = new AbortController();
    const opening = failureOf(link.openStream(openConsole, consoleArgs, { signal: controller.signal }));
    await until('the call', () => late !== undefined);
    controller.abort();
    expect(await opening).toMatchObject({ code: 'CALL_ABORTED' });
    const { client, serial } = late ?? peer;
    client.write(replyTo(openConsole, serial, undefined));
    await until('the abort', () => client.streamMessages.some(({ status }) => status === MessageStatus.error));
    await streamConnectionClosed();
  });

  it('by closing the link before the stream connects opens no second connection', async () => {
    await link.connected();
    const opening = failureOf(link.openStream(upload, transfer));
    await link.close();
    expect(await opening).toMatchObject({ code: 'LINK_CLOSED' });
    expect(fake.everyClient).toHaveLength(1);
  });

  it('at the timeout of its opening fails the opening with CALL_TIMEOUT', async () => {
    fake.on(upload, () => HANG);
    await link.connected();
    await expect(link.openStream(upload, transfer, { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'CALL_TIMEOUT',
      message: expect.stringMatching(/^stream of storageVolUpload: not open after \d+ ms$/),
    });
    await streamConnectionClosed();
  });
});
