import { describe, expect, it, jest } from '@jest/globals';
import { ClientMessages } from './client-messages.js';

const version = Buffer.from('RFB 003.008\n');

/** Returns a parser after the handshake. */
function afterHandshake(isViewOnly = false): ClientMessages {
  const replies: Buffer[] = [];
  const messages = new ClientMessages(
    (bytes) => replies.push(bytes),
    () => isViewOnly,
  );
  expect(messages.push(Buffer.concat([version, Buffer.from([1, 0])]))).toEqual(Buffer.from([1]));
  expect(Buffer.concat(replies)).toEqual(Buffer.concat([version, Buffer.from([1, 1, 0, 0, 0, 0])]));
  return messages;
}

/** Messages that are not input, one of each type. The contents look like the beginning of other messages. */
const view = [
  Buffer.concat([Buffer.from([0]), Buffer.alloc(19, 4)]),
  Buffer.concat([Buffer.from([2, 0, 0, 3]), Buffer.alloc(12, 5)]),
  Buffer.concat([Buffer.from([3]), Buffer.alloc(9, 6)]),
  Buffer.concat([Buffer.from([150]), Buffer.alloc(9, 4)]),
  Buffer.concat([Buffer.from([248, 0, 0, 0, 0, 0, 0, 0, 5]), Buffer.alloc(5, 4)]),
];
/** Messages with input for the guest. */
const input = [
  Buffer.concat([Buffer.from([4]), Buffer.alloc(7, 3)]),
  Buffer.concat([Buffer.from([5]), Buffer.alloc(5, 3)]),
  Buffer.concat([Buffer.from([6, 0, 0, 0, 0, 0, 0, 4]), Buffer.alloc(4, 3)]),
  Buffer.concat([Buffer.from([6, 0, 0, 0, 255, 255, 255, 252]), Buffer.alloc(4, 3)]),
  Buffer.concat([Buffer.from([251, 0, 0, 1, 0, 1, 1, 0]), Buffer.alloc(16, 3)]),
  Buffer.concat([Buffer.from([250]), Buffer.alloc(3, 3)]),
  Buffer.concat([Buffer.from([255, 0]), Buffer.alloc(10, 3)]),
  Buffer.from([255, 1, 0, 1]),
  Buffer.concat([Buffer.from([255, 1, 0, 2]), Buffer.alloc(6, 3)]),
];
const all = Buffer.concat([...view, ...input, ...view]);

describe('the messages of a VNC client', () => {
  it('pass unchanged, also one byte at a time', () => {
    expect(afterHandshake().push(all)).toEqual(all);
    const messages = afterHandshake();
    expect(Buffer.concat([...all].map((byte) => messages.push(Buffer.from([byte]))))).toEqual(all);
  });

  it('pass unchanged in parts of any size', () => {
    const many = Buffer.concat(Array.from({ length: 20 }, () => all));
    for (const size of [2, 3, 7, 19, 64, 500]) {
      const messages = afterHandshake();
      const parts = Array.from({ length: Math.ceil(many.length / size) }, (_none, index) =>
        messages.push(Buffer.from(many.subarray(index * size, (index + 1) * size))),
      );
      expect(Buffer.concat(parts)).toEqual(many);
    }
  });

  it('are not copied again and again while a long one arrives in small parts', () => {
    const text = Buffer.concat([Buffer.from([6, 0, 0, 0, 0, 3, 0, 0]), Buffer.alloc(3 * 65_536, 7)]);
    const messages = afterHandshake();
    let allocated = 0;
    const alloc = jest.spyOn(Buffer, 'alloc').mockImplementation((length) => {
      allocated += length;
      return Buffer.allocUnsafe(length);
    });
    try {
      const passed = [...text].map((byte) => messages.push(Buffer.from([byte])));
      expect(Buffer.concat(passed)).toEqual(text);
    } finally {
      alloc.mockRestore();
    }
    expect(allocated).toBeLessThan(8 * text.length);
  });

  it('pass for a view-only client only if they are not input', () => {
    expect(afterHandshake(true).push(all)).toEqual(Buffer.concat([...view, ...view]));
  });

  it.each([
    ['an unknown type', Buffer.from([99]), 'The client sent an unknown VNC message of type 99.'],
    ['a long text', Buffer.from([6, 0, 0, 0, 0, 255, 0, 0]), 'The client sent a VNC message that is too long.'],
    [
      'a long extended text',
      Buffer.from([6, 0, 0, 0, 128, 0, 0, 0]),
      'The client sent a VNC message that is too long.',
    ],
  ])('are rejected for %s', (_what, bytes, reason) => {
    expect(() => afterHandshake().push(bytes)).toThrow(reason);
  });

  it.each([
    ['another version', Buffer.from('RFB 003.003\n'), 'The client must speak version 3.8 of VNC.'],
    [
      'another security type',
      Buffer.concat([version, Buffer.from([2])]),
      'The client chose a security type that was not offered.',
    ],
  ])('are rejected in the handshake for %s', (_what, bytes, reason) => {
    expect(() =>
      new ClientMessages(
        () => undefined,
        () => false,
      ).push(bytes),
    ).toThrow(reason);
  });
});
