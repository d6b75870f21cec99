import { describe, expect, it } from '@jest/globals';
import { boundaryOf, MultipartError, MultipartScanner, type Form } from './multipart.js';

const scan = (body: string | Buffer, piece = Infinity, boundary = 'xx'): Form => {
  const bytes = Buffer.from(body as string);
  const scanner = new MultipartScanner(boundary, new Set(['model']));
  for (let at = 0; at < bytes.length; at += piece) scanner.push(bytes.subarray(at, at + piece));
  return scanner.finish();
};
const values = (body: string, form: Form) =>
  form.fields.map(({ name, valueStart, valueEnd }) => [name, body.slice(valueStart, valueEnd)]);

/** Two parts and a decoy of each kind: text that looks like a field, a delimiter that is none. */
const sample = [
  '--xx',
  'Content-Disposition: form-data; name="file"; filename="name=\\"model\\".wav"',
  'Content-Type: audio/wav',
  '',
  'RIFF\r\n\r\nname="model"\r\n--x\r\n-xx',
  '--xx',
  "content-disposition:form-data;name='x';",
  '',
  '',
  '--xx  ',
  'Content-Disposition: form-data; name="model"',
  '',
  'whisper-1',
  '--xx--',
  'epilogue --xx',
].join('\r\n');

describe('a form', () => {
  it.each([Infinity, 1, 2, 3, 7, 16])('has its fields where they are, in pieces of %d bytes (C4)', (piece) => {
    const form = scan(sample, piece);
    expect(form.start).toBe(0);
    expect(values(sample, form)).toEqual([
      ['file', 'RIFF\r\n\r\nname="model"\r\n--x\r\n-xx'],
      ["'x'", ''],
      ['model', 'whisper-1'],
    ]);
  });

  it('may begin with a preamble, and a part may have no headers (C4)', () => {
    const body = 'preamble\r\n--xx\r\n\r\nvalue\r\n--xx--';
    const form = scan(body);
    expect([form.start, values(body, form)]).toEqual([10, [[null, 'value']]]);
  });

  it.each([
    [
      'no closing boundary',
      '--xx\r\nContent-Disposition: form-data; name="a"\r\n\r\nvalue\r\n--xx\r\n',
      'the closing boundary is missing',
    ],
    ['nothing', '', 'the closing boundary is missing'],
    ['another boundary', '--yy\r\n\r\nvalue\r\n--yy--\r\n', 'the closing boundary is missing'],
    ['a longer boundary', '--xx\r\n\r\nvalue\r\n--xxx--\r\n', 'something stands behind a boundary'],
    [
      'two names',
      '--xx\r\nContent-Disposition: form-data; name="a"; name="model"\r\n\r\nvalue\r\n--xx--',
      'a part has two names',
    ],
    [
      'two dispositions',
      '--xx\r\nContent-Disposition: form-data; name=a\r\ncontent-disposition: form-data; name=model\r\n\r\nb\r\n--xx--',
      'a part has two names',
    ],
    ['endless headers', `--xx\r\nX: ${'y'.repeat(20_000)}`, 'the headers of a part are too long'],
  ])('with %s is refused (C11)', (_what, body, message) => {
    expect(() => scan(body)).toThrow(new MultipartError(message));
  });
});

describe('the boundary', () => {
  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['multipart/form-data; charset=utf-8; Boundary="a b;c"', 'a b;c'],
    ['multipart/form-data; boundary=abc; charset=utf-8', 'abc'],
    ['multipart/form-data', undefined],
    ['multipart/form-data; boundary=', undefined],
  ])('of %s is %s (C4)', (contentType, boundary) => {
    expect(boundaryOf(contentType)).toBe(boundary);
  });
});
