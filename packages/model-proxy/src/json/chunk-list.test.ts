import { describe, expect, it } from '@jest/globals';
import { ChunkList } from './chunk-list.js';
import { JsonObjectScanner } from './scanner.js';

const joined = (list: ChunkList) => Buffer.concat(list.chunks).toString('latin1');

describe('a list of chunks', () => {
  it.each([
    ['single bytes', () => 1],
    ['small chunks', (at: number) => 1 + (at % 1024)],
    ['small and large chunks', (at: number) => (at % 3 === 0 ? 5000 : 3)],
  ])('contains all bytes in order: %s', (_, sizeAt) => {
    const list = new ChunkList();
    let expected = '';
    for (let at = 0; at < 2000; at += 1) {
      const chunk = Buffer.alloc(sizeAt(at), at % 251);
      list.push(chunk);
      expected += chunk.toString('latin1');
    }
    expect(joined(list) === expected).toBe(true);
  });

  it('does not copy the first three chunks', () => {
    const list = new ChunkList();
    const chunks = ['a', 'b', 'c'].map((text) => Buffer.alloc(10, text));
    for (const chunk of chunks) list.push(chunk);
    expect(list.chunks.every((chunk, at) => chunk.buffer === chunks[at]?.buffer)).toBe(true);
  });

  it('joins chunks that follow each other in memory', () => {
    const list = new ChunkList();
    const memory = Buffer.from('abcdef');
    for (let at = 0; at < memory.length; at += 1) list.push(memory.subarray(at, at + 1));
    expect([list.chunks.length, joined(list)]).toEqual([1, 'abcdef']);
  });

  it('has fewer than 100 chunks for a JSON object of 100 KB that arrives in single bytes', () => {
    const text = `{"model":"m","a":"${'x'.repeat(100_000)}"}`;
    const scanner = new JsonObjectScanner();
    for (const byte of Buffer.from(text)) scanner.push(Buffer.of(byte));
    const { chunks } = scanner.finish();
    expect(Buffer.concat(chunks).toString() === text).toBe(true);
    expect(chunks.length).toBeLessThan(100);
  });
});
