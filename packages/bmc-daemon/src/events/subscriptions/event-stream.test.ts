import { Writable } from 'node:stream';
import { expect, it } from '@jest/globals';
import type { FeedEvent } from '../event-record.js';
import { lossEvent } from '../event-feed.js';
import { EventStream } from './event-stream.js';

const LIMIT = 200;

const eventOf = (sequence: number): FeedEvent => ({
  sequence,
  id: `run-${sequence}`,
  event: lossEvent(1),
  registryPrefix: 'Base',
  versionlessId: 'Base.EventBufferExceeded',
  resourceType: 'EventService',
});

/** Opens a stream. @param accept whether the client reads. @returns the stream, and the ids of the written events. */
function openStream(accept: boolean) {
  const ids: string[] = [];
  const output = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      for (const [, id = ''] of chunk.matchAll(/^id: (.*)$/gm)) ids.push(id);
      if (accept) done();
    },
  });
  const stream = new EventStream(output, {
    feed: { lossOf: () => ({ ...eventOf(0), id: 'loss' }), extraId: () => 'extra' },
    context: null,
    limit: LIMIT,
    keepAliveMs: 60_000,
    stalledMs: 60_000,
    isAuthorized: () => true,
    onEnd: () => undefined,
  });
  return { stream, ids };
}

/** Delivers events in groups, as sockets with many messages do, all in one turn of the event loop. */
async function deliver(stream: EventStream, count: number): Promise<void> {
  for (let sequence = 1; sequence <= count; sequence += 1) {
    stream.deliver(eventOf(sequence));
    if (sequence % 20 === 0) await new Promise<void>((resolve) => process.nextTick(resolve));
  }
}

it('a stream sends all events of one turn of the event loop to a client that reads, even above the limit', async () => {
  const { stream, ids } = openStream(true);
  await deliver(stream, 10 * LIMIT);
  await new Promise((resolve) => setImmediate(resolve));
  expect(ids).toEqual(Array.from({ length: 10 * LIMIT }, (_, index) => `run-${index + 1}`));
  stream.close();
});

it('a stream writes only one batch of events to a client that does not read', async () => {
  const { stream, ids } = openStream(false);
  await deliver(stream, 10 * LIMIT);
  await new Promise((resolve) => setImmediate(resolve));
  expect(ids).toHaveLength(50);
  stream.close();
});
