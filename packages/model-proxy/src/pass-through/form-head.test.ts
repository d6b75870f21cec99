import { describe, expect, it, jest } from '@jest/globals';
import { FormHeadReader, type FormHead } from './form-head.js';

const TYPE = 'multipart/form-data; boundary="b o"';
const wanted = new Set(['model', 'custom_llm_provider']);
const field = (name: string, value: string) =>
  `--b o\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (content: string) =>
  `--b o\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\ncontent-type: x/y\r\n\r\n${content}`;

/** Pushes chunks until the head is known. Returns the head, and the number of bytes that were pushed. */
function read(text: string, size: number): { head: FormHead; pushed: number } {
  const reader = FormHeadReader.of(TYPE, wanted);
  if (reader === undefined) throw new Error('the content type is not that of a form');
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) {
    const head = reader.push(bytes.subarray(at, at + size));
    if (head !== undefined) return { head, pushed: Math.min(at + size, bytes.length) };
  }
  return { head: reader.finish(), pushed: bytes.length };
}

describe('the head of a form', () => {
  it.each([1, 7, 10_000])(
    'has the wanted fields before the file, and apart from them the other bytes so far, in chunks of %d bytes',
    (size) => {
      const text = `${field('purpose', 'batch')}${field('model', ' gpt ')}${field('custom_llm_provider', 'openai')}${file('{}')}`;
      const { head, pushed } = read(`${text}\r\n--b o--\r\n`, size);
      expect(Object.fromEntries(head.fields)).toEqual({ model: 'gpt', custom_llm_provider: 'openai' });
      const rest = `${field('purpose', 'batch')}${file('{}')}\r\n--b o--\r\n`;
      expect(rest.startsWith(head.rest.toString())).toBe(true);
      expect(head.rest.length + head.removed).toBe(pushed);
    },
  );

  it('is known at the beginning of the file', () => {
    const reader = FormHeadReader.of(TYPE, wanted);
    expect(reader?.push(Buffer.from(field('purpose', 'batch')))).toBeUndefined();
    expect(reader?.push(Buffer.from(file('half')))?.fields.size).toBe(0);
  });

  it('has the first of two fields with the same name, and removes both', () => {
    const { head } = read(`${field('model', 'a')}${field('model', 'b')}${file('')}`, 1000);
    expect([head.fields.get('model'), head.rest.toString()]).toEqual(['a', file('')]);
  });

  it('ends at a part with two names, which the upstream checks', () => {
    const twice = '--b o\r\nContent-Disposition: form-data; name="model"; name="x"\r\n\r\na\r\n';
    const { head } = read(`${field('model', 'a')}${twice}${field('model', 'b')}--b o--`, 1000);
    expect([head.fields.get('model'), head.rest.toString()]).toEqual(['a', `${twice}${field('model', 'b')}--b o--`]);
  });

  it('ends with the form if there is no file', () => {
    const { head } = read(`${field('model', 'a')}${field('x', 'y')}--b o--`, 5);
    expect([head.fields.get('model'), head.rest.toString()]).toEqual(['a', `${field('x', 'y')}--b o--`]);
  });

  it.each(['', 'no form at all', '--b o', '--b ox\r\n', '\r\n--b o\r\n', field('purpose', 'cut').slice(0, 40)])(
    'has no fields, and only unchanged bytes, if the form is %j',
    (text) => {
      const { head } = read(text, 3);
      expect(head.fields.size).toBe(0);
      expect(text.startsWith(head.rest.toString())).toBe(true);
    },
  );

  it('ends after 64 KB', () => {
    const { head, pushed } = read(`${field('x', 'y'.repeat(200_000))}${field('model', 'late')}`, 10_000);
    expect([head.fields.size, pushed]).toEqual([0, 70_000]);
  });

  it.each(['application/json', 'multipart/form-data', 'multipart/mixed; boundary=x', ''])(
    'is not read for the content type %j',
    (type) => {
      expect(FormHeadReader.of(type, wanted)).toBeUndefined();
    },
  );

  it('needs less than 1,000 conversions to text for 300 parts, even if the form arrives byte by byte', () => {
    let conversions = 0;
    // The original method, which needs the current buffer as `this`.
    const original: Buffer['toString'] = Reflect.get(Buffer.prototype, 'toString') as Buffer['toString'];
    const spy = jest.spyOn(Buffer.prototype, 'toString').mockImplementation(function (
      this: Buffer,
      ...given: unknown[]
    ) {
      conversions += 1;
      return original.apply(this, given as Parameters<Buffer['toString']>); // As the method's caller wrote them.
    });
    try {
      const reader = FormHeadReader.of(TYPE, wanted);
      const form = Buffer.from(field('a', '').repeat(300));
      for (let at = 0; at < form.length; at += 1) reader?.push(form.subarray(at, at + 1));
    } finally {
      spy.mockRestore();
    }
    expect(conversions).toBeLessThan(1000);
  });
});
