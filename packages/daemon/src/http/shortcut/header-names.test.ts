import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { readPlainHead } from './plain-head.js';
import { renderHead } from './response-head.js';

const START = 'POST /v1/chat/completions HTTP/1.1\r\nHost: proxy\r\nContent-Length: 0\r\n';

/** The caches of this process are still empty here, because no other test is in this file. */
describe('the cache of names', () => {
  setFlagsFromString('--expose-gc');
  // With --expose-gc, V8 defines `gc` in each new context.
  const collectGarbage = runInNewContext('gc') as () => void;
  const heapUsed = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  /** A new head of 8 kB whose last name was not received before. */
  const headWith = (name: string) => Buffer.from(`${START}filler: ${'x'.repeat(7900)}\r\n${name}: 1\r\n\r\n`);

  it('does not keep the heads of requests in memory', () => {
    const before = heapUsed();
    for (let index = 0; index < 200; index += 1)
      for (const name of ['X-Name-With-Capitals', 'x-name-in-lower-case'])
        expect(readPlainHead(headWith(`${name}-${1000 + index}`))).not.toBeNull();
    expect(heapUsed() - before).toBeLessThan(1_000_000);
  });

  it('does not keep the heads of answers in memory', () => {
    const before = heapUsed();
    for (let index = 0; index < 400; index += 1) {
      const received = headWith(`x-name-of-an-answer-${index}`).toString('latin1');
      const name = received.slice(received.lastIndexOf('x-name'), received.lastIndexOf(':'));
      renderHead(200, [name, '1'], { keepsAlive: true, idleSeconds: 5 });
    }
    expect(heapUsed() - before).toBeLessThan(1_000_000);
  });
});
