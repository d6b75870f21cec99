import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createRunWatch } from './run-watch.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

it('ends a stream that is silent after its guest has stopped, and no stream of another server', () => {
  const { add, changed } = createRunWatch({ staleMs: 10, noticeMs: 100 });
  const [lost, other] = [new PassThrough(), new PassThrough()];
  add('a', lost);
  add('b', other);
  jest.advanceTimersByTime(1000);
  changed('a');
  jest.advanceTimersByTime(9);
  expect(lost.destroyed).toBe(false);
  jest.advanceTimersByTime(1);
  expect([lost.destroyed, other.destroyed]).toEqual([true, false]);
});

it('keeps a stream that receives output after the change, or that opened shortly before the daemon noticed it', () => {
  const { add, changed } = createRunWatch({ staleMs: 10, noticeMs: 100 });
  const [heard, next] = [new PassThrough(), new PassThrough()];
  add('a', heard);
  jest.advanceTimersByTime(1000);
  // The daemon notices the restart only after the stream of the new run has opened.
  add('a', next);
  jest.advanceTimersByTime(99);
  changed('a');
  heard.emit('data', Buffer.from('login:'));
  jest.advanceTimersByTime(1000);
  expect([heard.destroyed, next.destroyed]).toEqual([false, false]);
});

it('neither reads nor ends a stream whose client has paused it', () => {
  const { add, changed } = createRunWatch({ staleMs: 10, noticeMs: 100 });
  const slow = new PassThrough();
  slow.on('data', () => undefined).pause();
  add('a', slow);
  jest.advanceTimersByTime(1000);
  changed('a');
  expect(slow.isPaused()).toBe(true);
  jest.advanceTimersByTime(1000);
  expect(slow.destroyed).toBe(false);
});
