import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SilenceWatch, silencePace, uncheckedPace } from './console-silence.js';

/** The times of checks in seconds since the start, with `!` for an urgent check. */
let checks: string[];
let watch: SilenceWatch;
let began: number;

beforeEach(() => {
  jest.useFakeTimers();
  checks = [];
  began = performance.now();
  watch = new SilenceWatch(silencePace, (isUrgent) => {
    checks.push(`${Math.round((performance.now() - began) / 1000)}${isUrgent ? '!' : ''}`);
    watch.onCheckPassed();
  });
  watch.start();
  watch.onOutput();
});
afterEach(() => {
  watch.stop();
  jest.useRealTimers();
});

function advanceSeconds(seconds: number): void {
  jest.advanceTimersByTime(seconds * 1000);
}

describe('a silent console', () => {
  it('is checked after 30 s, then with growing pauses of at most 10 minutes', () => {
    advanceSeconds(3_000);
    expect(checks).toEqual(['30', '90', '210', '450', '930', '1530', '2130', '2730']);
  });

  it('is not checked while it prints, and is checked after it stops printing', () => {
    for (let second = 0; second < 600; second += 1) {
      watch.onOutput();
      advanceSeconds(1);
    }
    expect(checks).toEqual([]);
    advanceSeconds(30);
    expect(checks).toEqual(['629']);
  });

  it('is checked 5 s after input without output, at most once in 30 s', () => {
    for (let second = 0; second < 70; second += 1) {
      watch.onInput();
      advanceSeconds(1);
    }
    expect(checks).toEqual(['5!', '35!', '65!']);
  });

  it('is not checked for input that gets output', () => {
    for (let second = 0; second < 120; second += 3) {
      watch.onInput();
      advanceSeconds(1);
      watch.onOutput();
      advanceSeconds(2);
    }
    expect(checks).toEqual([]);
  });

  it('is checked 1 s after a start or stop of its machine', () => {
    advanceSeconds(10);
    watch.onMachineChange();
    advanceSeconds(5);
    expect(checks).toEqual(['11!']);
  });

  it('is not checked while it has had neither output nor input, and is checked after input', () => {
    watch.start();
    advanceSeconds(3_000);
    expect(checks).toEqual([]);
    watch.onInput();
    advanceSeconds(6);
    expect(checks).toEqual(['3005!']);
  });

  it('is checked with short pauses again after a new stream began', () => {
    advanceSeconds(3_000);
    checks = [];
    watch.start();
    watch.onInput();
    advanceSeconds(70);
    expect(checks).toEqual(['3005!', '3065']);
  });

  it('is not checked after its stream ended', () => {
    watch.stop();
    watch.onInput();
    watch.onMachineChange();
    advanceSeconds(3_000);
    expect(checks).toEqual([]);
  });
});

describe('a silent console that cannot be checked', () => {
  beforeEach(() => {
    watch.stop();
    watch = new SilenceWatch(uncheckedPace, () => checks.push('suspect'));
    watch.start();
  });

  it('is suspect 10 s after a change of its machine, and never without such a change', () => {
    watch.onOutput();
    watch.onInput();
    // No timer may run, because Node.js runs a timer with an infinite time after 1 ms.
    expect(jest.getTimerCount()).toBe(0);
    advanceSeconds(86_400);
    watch.onMachineChange();
    advanceSeconds(9);
    expect(checks).toEqual([]);
    advanceSeconds(1);
    expect(checks).toEqual(['suspect']);
  });

  it('is not suspect if it has output after the change, or opened shortly before the daemon noticed the change', () => {
    advanceSeconds(1000);
    watch.onMachineChange();
    watch.onOutput();
    advanceSeconds(1000);
    watch.start();
    advanceSeconds(29);
    watch.onMachineChange();
    advanceSeconds(1000);
    expect([checks, watch.isDue]).toEqual([[], false]);
  });
});
