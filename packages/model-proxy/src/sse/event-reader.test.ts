import { describe, expect, it } from '@jest/globals';
import { EventReader, type ServerSentEvent } from './event-reader.js';

/** Reads a text in pieces of a size. */
function read(text: string, size: number): ServerSentEvent[] {
  const bytes = Buffer.from(text);
  const reader = new EventReader();
  const events: ServerSentEvent[] = [];
  for (let at = 0; at < bytes.length; at += size)
    events.push(...reader.push(Buffer.from(bytes.subarray(at, at + size))));
  return [...events, ...reader.finish()];
}

describe('EventReader', () => {
  it.each([
    ['an event', 'data: {"a":1}\n\n', [{ name: '', data: '{"a":1}' }]],
    ['a name before the data', 'event: ping\ndata: 1\n\n', [{ name: 'ping', data: '1' }]],
    ['a name after the data', 'data: 1\nevent:ping\n\n', [{ name: 'ping', data: '1' }]],
    ['data in two lines', 'data: 1\ndata:2\n\n', [{ name: '', data: '1\n2' }]],
    [
      'CRLF',
      'event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n',
      [
        { name: 'a', data: '1' },
        { name: '', data: '2' },
      ],
    ],
    [
      'CR',
      'data: 1\r\rdata: 2\r\r',
      [
        { name: '', data: '1' },
        { name: '', data: '2' },
      ],
    ],
    ['text that is not ASCII', 'event: Ж\ndata: 雪😀\n\n', [{ name: 'Ж', data: '雪😀' }]],
    ['comments', ': hello\n\n: again\ndata: 1\n\n', [{ name: '', data: '1' }]],
    [
      'an event without its empty line',
      'data: 1\n\nevent: b\ndata: 2',
      [
        { name: '', data: '1' },
        { name: 'b', data: '2' },
      ],
    ],
    ['data that contains the text of a name line', 'data: x\\nevent: y\n\n', [{ name: '', data: 'x\\nevent: y' }]],
    [
      'empty lines',
      '\n\n\r\r\n\n\ndata: 1\n\n\n\r\ndata:\n\nd\n\n',
      [
        { name: '', data: '1' },
        { name: '', data: '' },
      ],
    ],
    ['nothing', '', []],
  ])('reads %s, in chunks of any size', (_what, text, events) => {
    for (let size = 1; size <= Buffer.byteLength(text) + 1; size += 1) expect(read(text, size)).toEqual(events);
  });

  it('takes less time for 64 KiB of empty lines than for 64 KiB of events', () => {
    // The test measures the CPU time of this process, which other processes on a busy host do not change.
    const cpuOf = (text: string): number => {
      const bytes = Buffer.from(text.repeat(65_536 / text.length));
      const reader = new EventReader();
      const start = process.cpuUsage();
      for (let count = 0; count < 16; count += 1) reader.push(bytes);
      return process.cpuUsage(start).user;
    };
    const ratios = Array.from({ length: 6 }, () => cpuOf('\n') / cpuOf('data: 1234567\n\n'));
    // The first run warms up, and does not count.
    const [, , median] = ratios.slice(1).toSorted((a, b) => a - b);
    expect(median).toBeLessThan(1);
  });

  it('rejects an event that grows without end', () => {
    const reader = new EventReader();
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    expect(() => {
      for (let count = 0; count < 20; count += 1) reader.push(chunk);
    }).toThrow('an event has more than 16777216 bytes');
  });
});
