import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { watchUploads, type Upload } from './stalled-uploads.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const stalled: string[] = [];
const upload = (name: string): Upload => ({
  inFlightIndex: -1,
  isMoving: true,
  onStall: () => stalled.push(name),
});

describe('a request that stalls', () => {
  it('is ended once after two checks without a chunk; other requests continue', () => {
    const uploads = watchUploads(1000);
    const [asleep, awake, done] = [upload('asleep'), upload('awake'), upload('done')];
    for (const one of [asleep, awake, done]) uploads.add(one);
    jest.advanceTimersByTime(1000);
    expect(stalled).toEqual([]);
    awake.isMoving = true;
    uploads.remove(done);
    jest.advanceTimersByTime(1000);
    expect(stalled).toEqual(['asleep']);
    uploads.remove(awake);
    jest.advanceTimersByTime(1000);
    expect(stalled).toEqual(['asleep']);
    // Without uploads, no timer runs.
    expect(jest.getTimerCount()).toBe(0);
  });

  it('gets the full time again if it is added again', () => {
    const uploads = watchUploads(1000);
    const times: number[] = [];
    const start = Date.now();
    const paused: Upload = {
      inFlightIndex: -1,
      isMoving: true,
      onStall: () => {
        times.push(Date.now() - start);
        if (times.length < 2) uploads.add(paused);
      },
    };
    uploads.add(paused);
    jest.advanceTimersByTime(10_000);
    expect(times).toEqual([2000, 4000]);
  });
});
