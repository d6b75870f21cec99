import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { OutputWatch } from './output-watch.js';

/** Returns a stream whose writes fail with this error code. */
const failing = (code: string): Writable =>
  new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });

describe('OutputWatch', () => {
  it('returns why the output is incomplete, and calls onEnd', async () => {
    let ends = 0;
    const stream = failing('ENOSPC');
    const watch = new OutputWatch(stream, () => (ends += 1));
    stream.write('rows');
    expect(await watch.failure()).toBe('writing standard output: there is no room left on the device');
    expect(ends).toBe(1);
  });

  it('calls onEnd but returns no failure if the reader has closed the pipe', async () => {
    let ends = 0;
    const stream = failing('EPIPE');
    const watch = new OutputWatch(stream, () => (ends += 1));
    stream.write('rows');
    expect([await watch.failure(), ends]).toEqual([undefined, 1]);
  });

  it('waits until slow output is written', async () => {
    let written = '';
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) =>
        void setImmediate(() => {
          written += chunk.toString();
          done();
        }),
    });
    const watch = new OutputWatch(stream, () => undefined);
    stream.write('rows');
    expect(await watch.failure()).toBeUndefined();
    expect(written).toBe('rows');
  });
});
