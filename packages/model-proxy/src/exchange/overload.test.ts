import { describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createOverload } from './overload.js';

const settings = { maxInFlight: 1, maxQueued: 5, queueMs: 3_600_000 };
// The queue uses only the event `close`.
const response = () => new EventEmitter() as unknown as ServerResponse;

describe('the queue of a full proxy', () => {
  it('holds nothing of a request whose client has gone, although an earlier request still waits', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void; // the function of V8
    const overload = createOverload();
    const unexpected = () => {
      throw new Error('unexpected');
    };
    overload.enter(settings, response(), () => undefined, unexpected);
    overload.enter(settings, response(), unexpected, unexpected);
    const leave = () => {
      const body = { text: 'body' };
      const client = response();
      overload.enter(settings, client, () => void body.text, unexpected);
      client.emit('close');
      return new WeakRef(body);
    };
    const left = Array.from({ length: 100 }, leave);
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      collect();
      expect(left.filter((body) => body.deref() !== undefined)).toHaveLength(0);
    });
  });
});
