import { describe, expect, it, jest } from '@jest/globals';
import { UsageScanner } from './usage-scanner.js';

const usage = { prompt_tokens: 123, completion_tokens: 456, total_tokens: 579 };
const answer = JSON.stringify({ id: 'a', text: 'x'.repeat(5000), usage, user: 'y'.repeat(5000) });

/** Reads a text in pieces of one size. */
function scanned(text: string, size: number, scanner = new UsageScanner()) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) scanner.add(bytes.subarray(at, at + size));
  return scanner.take();
}

describe('a scanner of usage', () => {
  it.each([1, 7, 100, 2048, 5050, 100_000])('finds the whole usage in pieces of %d bytes', (size) => {
    expect(scanned(answer, size)).toMatchObject({ inputTokens: 123, outputTokens: 456, totalTokens: 579 });
  });

  it("takes the input from the first usage of Anthropic's streams, and forgets the text before", () => {
    const scanner = new UsageScanner('anthropic');
    const event = (tokens: number | null) =>
      `data: {"usage":${tokens === null ? 'null' : `{"completion_tokens":${tokens}}`}}\n\n`;
    const start = 'data: {"usage":{"input_tokens":5,"output_tokens":0}}\n\n';
    expect(scanned(start + event(1) + event(2) + event(null), 9, scanner)).toMatchObject({
      inputTokens: 5,
      outputTokens: 2,
      totalTokens: 7,
    });
    expect(scanned('{"usage":null}', 9, scanner)).toBeNull();
  });

  it("finds the usage in streams of Gemini's own API", () => {
    const event = (thoughts: number) =>
      `data: ${JSON.stringify({
        candidates: [],
        usageMetadata: { promptTokenCount: 8, thoughtsTokenCount: thoughts, candidatesTokenCount: 5 },
        modelVersion: 'gemini',
      })}\r\n\r\n`;
    expect(scanned(event(10) + event(20), 11, new UsageScanner('gemini'))).toEqual({
      inputTokens: 8,
      outputTokens: 25,
      totalTokens: 33,
    });
  });

  it("reads each byte at most once as Gemini's usage, also in an answer full of its name", () => {
    const bytes = Buffer.from('"usageMetadata":{'.repeat(1000));
    const read = jest.spyOn(Buffer.prototype, 'toString');
    const scanner = new UsageScanner('gemini');
    scanner.add(bytes);
    expect(scanner.take()).toBeNull();
    const lengths = read.mock.results.map(({ value }) => (value as string).length); // `toString` returns texts
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(bytes.length);
    read.mockRestore();
  });
});
