import { describe, expect, it } from '@jest/globals';
import { boundaryOf, dispositionOf, MultipartError, MultipartScanner, type Form } from './multipart.js';

const scan = (body: string | Buffer, piece = Infinity, boundary = 'xx'): Form => {
  const bytes = Buffer.from(body as string);
  const scanner = new MultipartScanner(boundary, new Set(['model']));
  for (let at = 0; at < bytes.length; at += piece) scanner.push(bytes.subarray(at, at + piece));
  return scanner.finish();
};
const values = (body: string, form: Form) =>
  form.fields.map(({ name, valueStart, valueEnd }) => [name, body.slice(valueStart, valueEnd)]);

/** Parts with text that looks like a field, and text that looks like a delimiter. */
const sample = [
  '--xx',
  'Content-Disposition: form-data; name="file"; filename="name=\\"model\\" C:\\\\x\\y.wav"',
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
  ' ',
].join('\r\n');

describe('a form', () => {
  it.each([Infinity, 1, 2, 3, 7, 16])('has the same fields in chunks of %d bytes', (piece) => {
    const form = scan(sample, piece);
    expect(form.start).toBe(0);
    expect(values(sample, form)).toEqual([
      ['file', 'RIFF\r\n\r\nname="model"\r\n--x\r\n-xx'],
      ["'x'", ''],
      ['model', 'whisper-1'],
    ]);
  });

  it('may begin with a line end, and a part may have no name', () => {
    const body = '\r\n--xx\r\nX: y\r\n\r\nvalue\r\n--xx--';
    const form = scan(body);
    expect([form.start, values(body, form)]).toEqual([2, [[null, 'value']]]);
  });

  it('has the same fields in two chunks, wherever the bytes are split', () => {
    for (let at = 0; at <= sample.length; at += 1) {
      const scanner = new MultipartScanner('xx', new Set(['model']));
      scanner.push(Buffer.from(sample.slice(0, at)));
      scanner.push(Buffer.from(sample.slice(at)));
      expect(scanner.finish()).toEqual(scan(sample));
    }
  });

  it.each([
    'preamble\r\n',
    'preamble',
    '\n',
    '\n--xx\r\nContent-Disposition: form-data; name="model"\r\n\r\na\r\n',
    '\r\n\r\n',
  ])('is rejected if it begins with %j, in which another parser could find a boundary', (before) => {
    const error = new MultipartError('it has text before the first boundary');
    expect(() => scan(`${before}--xx\r\n\r\nvalue\r\n--xx--`)).toThrow(error);
  });

  it.each([
    [
      'no closing boundary',
      '--xx\r\nContent-Disposition: form-data; name="a"\r\n\r\nvalue\r\n--xx\r\n',
      'the closing boundary is missing',
    ],
    ['an empty body', '', 'the closing boundary is missing'],
    ['another boundary', '--yy\r\n\r\nvalue\r\n--yy--\r\n', 'the closing boundary is missing'],
    ['a longer boundary', '--xx\r\nX: y\r\n\r\nvalue\r\n--xxx--\r\n', 'a boundary is followed by other text'],
    [
      'two names',
      '--xx\r\nContent-Disposition: form-data; name="a"; name="model"\r\n\r\nvalue\r\n--xx--',
      'a part has two names',
    ],
    [
      'two dispositions',
      '--xx\r\nContent-Disposition: form-data; name=a\r\ncontent-disposition: form-data; name=model\r\n\r\nb\r\n--xx--',
      'a part has two Content-Disposition headers',
    ],
    ['a boundary in its headers', '--xx\r\nX: --xx\r\n\r\na\r\n--xx--', 'the headers of a part contain the boundary'],
    ['text after its end', '--xx\r\nX: y\r\n\r\na\r\n--xx--\r\n--xx\r\n', 'it has text after the closing boundary'],
    ['text directly after its end', '--xx\r\nX: y\r\n\r\na\r\n--xx--x', 'it has text after the closing boundary'],
    ['no headers', '--xx\r\n\r\nX: y\r\n\r\na\r\n--xx--', 'a part has no headers, or an invalid one'],
    ['a control character', '--xx\r\n\fX: y\r\n\r\na\r\n--xx--', 'a part has no headers, or an invalid one'],
    ['endless headers', `--xx\r\nX: ${'y'.repeat(20_000)}`, 'the headers of a part are too long'],
  ])('with %s is rejected', (_what, body, message) => {
    expect(() => scan(body)).toThrow(new MultipartError(message));
  });

  it.each(['\n', '\r', ' ', 'a', '\r\n-', '\r\n\n', ''])(
    'is rejected if a boundary follows %j, wherever the bytes are split',
    (before) => {
      const field = '\r\nContent-Disposition: form-data; name="model"\r\n\r\n';
      const body = Buffer.from(`--xx${field}${before}--xx${field}other\r\n--xx--`);
      const error = new MultipartError('it has a boundary without a CRLF of its own before it');
      for (let at = 0; at <= body.length; at += 1) {
        const scanner = new MultipartScanner('xx');
        const read = () => {
          scanner.push(body.subarray(0, at));
          scanner.push(body.subarray(at));
        };
        expect(read).toThrow(error);
      }
    },
  );
});

describe('a part', () => {
  const disposition = (text: string) => dispositionOf(`Content-Type: x/y\r\nContent-Disposition: form-data${text}`);

  it.each<[string, string | null, boolean]>([
    ['; name="model"', 'model', false],
    ['; name=model', 'model', false],
    ['; name="model"; filename="a.txt"', 'model', true],
    ['; filename=a.txt; name="model"', 'model', true],
    ['; name="model"; filename=""', 'model', true],
    ['; name="model"; FileName*=UTF-8\'\'a.txt', 'model', true],
    ['; name="file"; filename="a; b=c; name.wav"', 'file', true],
    ['; name="file"; filename="\\"a\\"; b\\".wav"', 'file', true],
    ['; name="file"; filename="\\"a\\""', 'file', true],
    ['; name="file"; filename="C:\\x\\a.wav"', 'file', true],
    ['; name="file"; filename="a\\\u2028b.wav"', 'file', true],
    ['; name="file"; filename="C:\\\\x\\\\a.wav"', 'file', true],
    ['', null, false],
  ])('with form-data%s has the name %j; file: %j', (text, name, isFile) => {
    expect(disposition(text)).toEqual({ name, isFile });
  });

  it.each([
    `; name="x"; name*=utf-8''model`,
    `; name*=utf-8''model`,
    '; name*0=mo; name*1=del',
    ';\r\n name="model"',
    '\nContent-Disposition: form-data; name="model"',
    '; name=<model>',
    '; a=b"; x="; name=model; y="',
    '; name=model\u001c',
    ';\u0085name=model',
    ';\ufffdname="model"',
    '; name="prompt"; p="\\\\"; q="; name=model; r="',
    '; name="prompt"; p="\\"; name=model; r=\\""',
    '; x="; name=model; y="; name="prompt"',
    '; name="model"; x="; filename=a; y="',
    '; name=" model"',
    '; name="model\u001c"',
    '; name="m\\odel"',
    '; name=x=model',
    '; name="prompt"=model',
    '; name="prompt" model',
    '; name=model,x',
    '; name=model; name',
    ' a"b; name=model',
  ])('with form-data%j is rejected, because some parsers find another name', (text) => {
    expect(() => disposition(text)).toThrow(MultipartError);
  });

  it.each(['; name="file"; filename="a\\"', '; name="file"; filename="a\\\\"', '; filename="a\\"; name="file"'])(
    'with form-data%s is rejected, because a name ends with a backslash',
    (text) => {
      const error = new MultipartError('the name of a file or of a field ends with a backslash');
      expect(() => disposition(text)).toThrow(error);
    },
  );

  it('has no value if it is a file, and is listed as soon as it begins', () => {
    const head = '--xx\r\nContent-Disposition: form-data; name="model"; filename="a"\r\n\r\n';
    const scanner = new MultipartScanner('xx', new Set(['model']));
    scanner.push(Buffer.from(head));
    expect(scanner.begun).toEqual([{ name: 'model', isFile: true, valueStart: head.length }]);
    scanner.push(Buffer.alloc(100_000, 'a'));
    scanner.push(Buffer.from('\r\n--xx--'));
    const valueStart = head.length;
    expect(scanner.finish().fields).toEqual([
      { name: 'model', isFile: true, valueStart, valueEnd: valueStart + 100_000, value: null },
    ]);
  });
});

describe('the boundary', () => {
  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['multipart/form-data; charset=utf-8; Boundary="a b:c"', 'a b:c'],
    ['multipart/form-data; boundary=----WebKitFormBoundaryA1', '----WebKitFormBoundaryA1'],
    ['multipart/form-data; boundary="===============12=="', '===============12=='],
    ['multipart/form-data; boundary=abc; charset=utf-8', 'abc'],
    ['multipart/form-data', undefined],
    ['multipart/form-data; boundary=', undefined],
    ['multipart/form-data; boundary=a; boundary=b', undefined],
    ["multipart/form-data; boundary=a; boundary*=utf-8''b", undefined],
    ['multipart/form-data; charset=ISO-8859-1; boundary=b', 'b'],
    ['multipart/form-data; charset=utf-7; boundary=b', undefined],
    ["multipart/form-data; boundary*=utf-8''b", undefined],
    ['multipart/form-data; x="; boundary=a"; boundary=b', undefined],
    ['multipart/form-data; boundary=B; p="\\\\"; q="; boundary=X; r="', undefined],
    ['multipart/form-data; boundary=b; x=a\\', undefined],
    ['multipart/form-data; boundary=b c', undefined],
    ['multipart/form-data; boundary="b"c', undefined],
    ['multipart/form-data; boundary=b/c', undefined],
    ['multipart/form-data; boundary=b=', undefined],
    ['multipart/form-data ;  boundary = b;', 'b'],
    ['multipart/form-data; boundary="b;c"', undefined],
    ['multipart/form-data; boundary="b "', undefined],
    ['multipart/form-data"; x="; boundary=b; y="', undefined],
    ['multipart/form-data; boundary="a\\"b"', undefined],
    ['multipart/form-data; boundary=<a>', undefined],
    [`multipart/form-data; boundary=${'a'.repeat(201)}`, undefined],
  ])('in %s is %s', (contentType, boundary) => {
    expect(boundaryOf(contentType)).toBe(boundary);
  });
});
