import { describe, expect, it } from '@jest/globals';
import { HeaderBlock, RenderedHeaders } from './rendered-headers.js';
import { renderHead } from './response-head.js';

const connection = { keepsAlive: true, idleSeconds: 5 };
/** A time that does not change between two heads. */
const date = ['date', 'Sat, 28 Nov 2026 19:00:00 GMT'];

describe('rendered headers', () => {
  it('give the same head as a list of the same headers', () => {
    const own = ['x-version', '1', 'x-model', 'caf\xe9'];
    const more = ['content-type', 'application/json', 'content-length', '2', ...date];
    const rendered = new RenderedHeaders();
    rendered.addBlock(new HeaderBlock(own));
    rendered.addList(more);
    const ofList = renderHead(200, [...own, ...more], connection);
    expect([rendered.byteLength, renderHead(200, rendered, connection)]).toEqual([rendered.text.length, ofList]);
    expect(ofList.isChunked).toBe(false);
  });

  it('end the connection if a header says so', () => {
    const rendered = new RenderedHeaders();
    rendered.addList(['connection', 'close', ...date]);
    expect(renderHead(200, rendered, connection)).toMatchObject({ keepsAlive: false, isChunked: true });
  });

  it.each([
    ['a line end', 'a', 'b\r\nset-cookie: c'],
    ['a control character', 'a', 'b\0'],
    ['a character that is not latin1', 'a', '€'],
    ['an invalid name', 'a b', 'c'],
    ['a name that changes the framing', 'transfer-encoding', 'chunked'],
  ])('reject %s, also in a block', (_what, name, value) => {
    expect(() => new RenderedHeaders().add(name, value)).toThrow();
    expect(() => new HeaderBlock([name, value])).toThrow();
  });

  it.each([
    ['content-length', '1'],
    ['connection', 'close'],
    ['date', 'now'],
  ])('reject %s in a block, because it is about one response', (name, value) => {
    expect(() => new HeaderBlock([name, value])).toThrow('a header about one response');
  });
});
