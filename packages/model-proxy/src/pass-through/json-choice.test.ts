import { describe, expect, it } from '@jest/globals';
import { ProxyError } from '../errors/proxy-error.js';
import { jsonChoice } from './json-choice.js';

const choiceOf = (...pieces: string[]) => jsonChoice(pieces.map((piece) => Buffer.from(piece)));
const text = (chunks: readonly Buffer[]) => Buffer.concat(chunks).toString();

describe('the JSON of a raw request', () => {
  it('is read for texts and lists of texts in top-level members', () => {
    const json = choiceOf('{"model":"a","target_model_names":"x, y,","li', 'st":["p",1,"q"],"n":1,"in":{"model":"b"}}');
    expect([json.text('model'), json.text('n'), json.text('none')]).toEqual(['a', undefined, undefined]);
    expect(['target_model_names', 'list', 'n'].map((name) => json.texts(name))).toEqual([['x', 'y'], ['p', 'q'], []]);
    expect([json.streams, choiceOf('{"stream": true}').streams]).toEqual([false, true]);
  });

  it('is copied with one member replaced or removed, and otherwise unchanged', () => {
    const json = choiceOf('{ "model" : "a" , "n": 1.0, "x": {"model": "a"} }');
    expect(text(json.replaced('model', 'b"c'))).toBe('{ "model" : "b\\"c" , "n": 1.0, "x": {"model": "a"} }');
    expect(text(json.replaced('none', 'b'))).toBe('{ "model" : "a" , "n": 1.0, "x": {"model": "a"} }');
    expect(JSON.parse(text(json.without(new Set(['model']))))).toEqual({ n: 1, x: { model: 'a' } });
  });

  it.each(['[1]', '{"model":"a"', 'no', ''])('stays unchanged if it is not a complete JSON object: %j', (body) => {
    const json = choiceOf(body);
    expect([json.text('model'), json.texts('model'), json.streams]).toEqual([undefined, [], false]);
    expect(text(json.without(new Set(['model'])))).toBe(body);
    expect(text(json.replaced('model', 'b'))).toBe(body);
  });

  it.each(['{"model":"a","model":"b"}', '{"mod\\u0065l":"a"}', '{"model":"a","Model":"b"}'])(
    'is rejected if it is ambiguous: %s',
    (body) => {
      expect(() => choiceOf(body).text('model')).toThrow(ProxyError);
    },
  );
});
