import { describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createOverload } from './overload.js';

const settings = { maxParallel: null, maxInFlight: 1, maxQueued: 5, queueMs: 3_600_000 };
// The queue uses only the event `close` of a response.
const response = () => new EventEmitter() as unknown as ServerResponse;

describe('the queue of a full proxy', () => {
  it('frees the memory of a request whose client has disconnected, although an earlier request still waits', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void; // With --expose-gc, V8 defines `gc`.
    const overload = createOverload();
    overload.setLimits(settings);
    const unexpected = () => {
      throw new Error('unexpected');
    };
    overload.enter(response(), () => undefined, unexpected);
    overload.enter(response(), unexpected, unexpected);
    const leave = () => {
      const body = { text: 'body' };
      const client = response();
      overload.enter(client, () => void body.text, unexpected);
      client.emit('close');
      return new WeakRef(body);
    };
    const bodies = Array.from({ length: 100 }, leave);
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      collect();
      expect(bodies.filter((body) => body.deref() !== undefined)).toHaveLength(0);
    });
  });

  it('starts requests by the limit that a reload has set', () => {
    const overload = createOverload();
    overload.setLimits({ maxParallel: null, maxInFlight: 3, maxQueued: 9, queueMs: 3_600_000 });
    const started: number[] = [];
    const enter = (number: number) =>
      overload.enter(
        response(),
        () => started.push(number),
        () => {
          throw new Error(`request ${number} was refused`);
        },
      );
    for (let number = 0; number < 6; number += 1) enter(number);
    expect(started).toEqual([0, 1, 2]);
    overload.setLimits({ maxParallel: null, maxInFlight: 1, maxQueued: 9, queueMs: 3_600_000 });
    overload.leave();
    overload.leave();
    expect(started).toEqual([0, 1, 2]);
    overload.leave();
    expect(started).toEqual([0, 1, 2, 3]);
    overload.setLimits({ maxParallel: null, maxInFlight: 2, maxQueued: 9, queueMs: 3_600_000 });
    expect(started).toEqual([0, 1, 2, 3, 4]);
    overload.setLimits(null);
    enter(6);
    expect(started).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('rejects a request by the time limit that a reload has set, although an earlier one waits longer', async () => {
    const overload = createOverload();
    overload.setLimits(settings);
    const events: string[] = [];
    const enter = (name: string, run: () => void = () => events.push(`${name} ran`)) =>
      new Promise<void>((resolve) => {
        overload.enter(response(), run, () => {
          events.push(`${name} was rejected`);
          resolve();
        });
      });
    void enter('running', () => undefined);
    void enter('patient');
    overload.setLimits({ ...settings, queueMs: 1 });
    await enter('impatient');
    expect(events).toEqual(['impatient was rejected']);
  });
});
