import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { isTerminalReport, Keyboard, type KeyboardClient, type KeyboardStatus } from './console-keyboard.js';

/** A client that records its last status. */
class Client implements KeyboardClient {
  readonly name: string;
  status: KeyboardStatus | undefined;

  constructor(name: string) {
    this.name = name;
  }

  keyboard(status: KeyboardStatus): void {
    this.status = status;
  }
}

let keyboard: Keyboard;
let [olga, rick, nora] = [new Client('olga'), new Client('rick'), new Client('nora')];

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask'] });
  keyboard = new Keyboard({ idleMs: 60_000, handOverMs: 10_000 });
  [olga, rick, nora] = [new Client('olga'), new Client('rick'), new Client('nora')];
  for (const client of [olga, rick, nora]) keyboard.join(client);
});
afterEach(() => {
  keyboard.close();
  jest.useRealTimers();
});

describe('the keyboard of a console', () => {
  it('belongs to the first client that types, and all clients learn the holder', () => {
    expect(keyboard.claim(olga)).toBe(true);
    expect(keyboard.claim(rick)).toBe(false);
    expect(olga.status).toEqual({ holder: 'olga', asker: null, isYours: true });
    expect(rick.status).toEqual({ holder: 'olga', asker: null, isYours: false });
  });

  it('passes to the asker when the holder hands it over', () => {
    keyboard.claim(olga);
    keyboard.take(rick);
    expect(olga.status).toEqual({ holder: 'olga', asker: 'rick', isYours: true });
    keyboard.release(olga);
    expect(rick.status).toEqual({ holder: 'rick', asker: null, isYours: true });
    expect(keyboard.claim(olga)).toBe(false);
  });

  it('passes to the asker after the hand-over time, even while the holder types', () => {
    keyboard.claim(olga);
    keyboard.take(rick);
    for (let second = 1; second < 10; second += 1) {
      jest.advanceTimersByTime(1_000);
      expect(keyboard.claim(olga)).toBe(true);
    }
    jest.advanceTimersByTime(1_000);
    expect(keyboard.claim(olga)).toBe(false);
    expect(rick.status).toEqual({ holder: 'rick', asker: null, isYours: true });
  });

  it('has one asker at a time', () => {
    keyboard.claim(olga);
    keyboard.take(rick);
    keyboard.take(nora);
    expect(nora.status?.asker).toBe('rick');
    jest.advanceTimersByTime(10_000);
    expect(keyboard.isHeldBy(rick)).toBe(true);
    keyboard.take(nora);
    jest.advanceTimersByTime(10_000);
    expect(keyboard.isHeldBy(nora)).toBe(true);
  });

  it('becomes free when its holder types nothing for the idle time', () => {
    keyboard.claim(olga);
    jest.advanceTimersByTime(59_000);
    keyboard.claim(olga);
    jest.advanceTimersByTime(59_999);
    expect(keyboard.isHeldBy(olga)).toBe(true);
    jest.advanceTimersByTime(1);
    expect(olga.status).toEqual({ holder: null, asker: null, isYours: false });
    expect(keyboard.claim(rick)).toBe(true);
  });

  it('goes to the asker when the holder leaves, and stays with the holder when the asker leaves', () => {
    keyboard.claim(olga);
    keyboard.take(rick);
    keyboard.leave(olga);
    expect(keyboard.isHeldBy(rick)).toBe(true);
    keyboard.take(nora);
    keyboard.leave(nora);
    jest.advanceTimersByTime(10_000);
    expect(rick.status).toEqual({ holder: 'rick', asker: null, isYours: true });
  });

  it('reports its holder to a client that joins', async () => {
    keyboard.claim(olga);
    const late = new Client('late');
    keyboard.join(late);
    await Promise.resolve();
    expect(late.status).toEqual({ holder: 'olga', asker: null, isYours: false });
  });
});

describe('reports of a terminal', () => {
  it.each([
    ['a position of the cursor', '\x1b[24;80R', true],
    ['two reports', '\x1b[24;80R\x1b[?1;2c', true],
    ['a color', '\x1b]11;rgb:0000/0000/0000\x1b\\', true],
    ['a key', 'a', false],
    ['a key after a report', '\x1b[24;80Ra', false],
    ['the key for up', '\x1b[A', false],
    ['Escape', '\x1b', false],
  ])('are distinguished from keys: %s', (_what, input, isReport) => {
    expect(isTerminalReport(Buffer.from(input))).toBe(isReport);
  });
});
