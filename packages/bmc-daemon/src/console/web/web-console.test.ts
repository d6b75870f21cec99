import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { DriverError } from '../../drivers/driver-error.js';
import type { ConsoleState } from '../console-condition.js';
import type { ConsoleSeat } from '../console-hub.js';
import type { KeyboardClient } from '../console-keyboard.js';
import type { ConsoleListener } from '../console-line.js';
import { WebConsole } from './web-console.js';

const machine = { uuid: 'c7a5fdbd-cdaf-9455-926a-d65c16db1809', name: 'node-1' };

/** A console with one client, whose messages the test reads and writes. */
class Fixture {
  /** Messages of the service: objects for text, strings for bytes. */
  received: unknown[] = [];
  readonly closed: string[] = [];
  readonly written: string[] = [];
  readonly seatCalls: string[] = [];
  isPaused = false;
  isReading = true;
  hasKeyboard = true;
  sendBreak = () => Promise.resolve(true);
  /** The callbacks of input that the console has not accepted yet; undefined: the console accepts input at once. */
  accepted: (() => void)[] | undefined;
  listener: (ConsoleListener & KeyboardClient) | undefined;
  readonly console: WebConsole;

  constructor(bootText: string | Error | null = 'firmware') {
    this.console = new WebConsole({
      machine,
      clientName: 'olga at 192.0.2.7',
      log: { warn: () => undefined },
      client: {
        send: (message) => {
          // The service sends JSON in text messages.
          this.received.push(typeof message === 'string' ? JSON.parse(message) : Buffer.from(message).toString());
          return this.isReading;
        },
        pause: () => void (this.isPaused = true),
        resume: () => void (this.isPaused = false),
        close: (code, reason) => void this.closed.push(`${code} ${reason}`),
      },
      bootLog:
        bootText === null
          ? null
          : {
              follow: async (join) => {
                await turn();
                if (bootText instanceof Error) throw bootText;
                join({ number: 7, text: Buffer.from(bootText) });
              },
            },
      hub: { seat: (_uuid, client) => this.#seat(client) },
    });
  }

  /** Waits until the client is attached to the console, and forgets the messages until then. */
  async begin(state: ConsoleState = 'open'): Promise<this> {
    while (this.listener === undefined) await turn();
    this.listener.state(state, 'connected');
    this.received = [];
    return this;
  }

  /** Sends an object as text, and a string as bytes. */
  sends(message: object | string): void {
    const isBinary = typeof message === 'string';
    this.console.message(Buffer.from(isBinary ? message : JSON.stringify(message)), isBinary);
  }

  #seat(client: ConsoleListener & KeyboardClient): ConsoleSeat {
    this.listener = client;
    return {
      takeKeyboard: () => void this.seatCalls.push('take'),
      releaseKeyboard: () => void this.seatCalls.push('release'),
      write: (bytes, onAccepted) => {
        if (!this.hasKeyboard) return false;
        this.written.push(bytes.toString());
        if (this.accepted === undefined) onAccepted?.();
        else if (onAccepted !== undefined) this.accepted.push(onAccepted);
        return true;
      },
      sendBreak: () => this.sendBreak(),
      detach: () => void this.seatCalls.push('detach'),
    };
  }
}

let fixture = new Fixture();
afterEach(() => fixture.console.closed());

describe('a console on a WebSocket', () => {
  it('sends the log of this boot, then the live output; input waits until the state of the console is known', async () => {
    fixture = new Fixture();
    fixture.sends('typed early');
    while (fixture.listener === undefined) await turn();
    expect(fixture.isPaused).toBe(true);
    fixture.listener.state('open', 'connected');
    expect(fixture.isPaused).toBe(false);
    fixture.listener.data(Buffer.from('login: '));
    expect(fixture.received).toEqual([
      { type: 'hello', machine: 'node-1', you: 'olga at 192.0.2.7', handOverSeconds: 10 },
      { type: 'boot', boot: 7, bytes: 8 },
      'firmware',
      { type: 'state', state: 'open', why: 'connected' },
      'login: ',
    ]);
    expect(fixture.written).toEqual(['typed early']);
  });

  it('sends only the live output if there is no log, and a notice if the log cannot be read', async () => {
    fixture = await new Fixture(null).begin();
    fixture.listener?.data(Buffer.from('one'));
    expect(fixture.received).toEqual(['one']);
    fixture = new Fixture(new Error('EIO'));
    while (fixture.listener === undefined) await turn();
    expect(fixture.received).toContainEqual({
      type: 'notice',
      text: 'The earlier output of this boot cannot be read.',
    });
  });

  it('does not attach a client that leaves while the log is read', async () => {
    fixture = new Fixture();
    fixture.console.closed();
    for (let turns = 0; turns < 5; turns += 1) await turn();
    expect(fixture.listener).toBeUndefined();
  });

  it('passes requests for the keyboard to the console, and reports who has the keyboard', async () => {
    fixture = await new Fixture().begin();
    fixture.sends({ type: 'take' });
    fixture.sends({ type: 'release' });
    expect(fixture.seatCalls).toEqual(['take', 'release']);
    fixture.listener?.keyboard({ holder: 'rick', asker: null, isYours: false });
    expect(fixture.received).toEqual([{ type: 'keyboard', holder: 'rick', asker: null, yours: false }]);
  });

  it('reports input that does not reach the guest, with the reason', async () => {
    fixture = await new Fixture().begin();
    fixture.hasKeyboard = false;
    fixture.sends('four');
    fixture.hasKeyboard = true;
    fixture.listener?.state('closed', 'the machine is off');
    fixture.sends('five5');
    expect(fixture.received).toEqual([
      { type: 'dropped', bytes: 4, why: 'another client has the keyboard' },
      { type: 'state', state: 'closed', why: 'the machine is off' },
      { type: 'dropped', bytes: 5, why: 'the console is not open' },
    ]);
    expect(fixture.written).toEqual([]);
  });

  it('delays a client that types faster than the guest reads', async () => {
    fixture = await new Fixture().begin();
    fixture.accepted = [];
    fixture.sends('y'.repeat(64 * 1024));
    expect(fixture.isPaused).toBe(false);
    fixture.sends('y');
    expect(fixture.isPaused).toBe(true);
    for (const accept of fixture.accepted.splice(0)) accept();
    expect(fixture.isPaused).toBe(false);
  });

  it('skips output while the connection is full, and reports how much', async () => {
    fixture = await new Fixture().begin();
    fixture.isReading = false;
    fixture.listener?.data(Buffer.from('the last one'));
    fixture.listener?.data(Buffer.from('skipped'));
    fixture.sends({ type: 'take' });
    fixture.isReading = true;
    fixture.console.drained();
    fixture.listener?.data(Buffer.from('next'));
    expect(fixture.received).toEqual([
      'the last one',
      { type: 'notice', text: '7 bytes are missing here: this connection is too slow' },
      'next',
    ]);
  });

  it('skips output while the client has not reported 100 MiB of output as read', async () => {
    fixture = await new Fixture().begin();
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    for (let round = 0; round < 100; round += 1) fixture.listener?.data(megabyte);
    expect(fixture.received).toHaveLength(100);
    fixture.received = [];
    // The client has read the eight bytes of the log.
    fixture.sends({ type: 'read', bytes: 8 });
    fixture.listener?.data(megabyte);
    expect(fixture.received).toEqual([]);
    fixture.sends({ type: 'read', bytes: 8 + 100 * megabyte.length });
    expect(fixture.received).toEqual([
      { type: 'notice', text: '1048576 bytes are missing here: this connection is too slow' },
    ]);
  });

  it('ignores a break while another is sent, and reports the result of each break that it sends', async () => {
    fixture = await new Fixture().begin();
    const results: ((isSent: boolean) => void)[] = [];
    fixture.sendBreak = () => new Promise((resolve) => results.push(resolve));
    for (let round = 0; round < 3; round += 1) fixture.sends({ type: 'break' });
    expect(results).toHaveLength(1);
    results[0]?.(true);
    await turn();
    fixture.sendBreak = () => Promise.reject(new DriverError('unavailable', 'sending a break: no answer'));
    fixture.sends({ type: 'break' });
    await turn();
    fixture.sendBreak = () => Promise.resolve(false);
    fixture.sends({ type: 'break' });
    await turn();
    expect(fixture.received).toEqual([
      { type: 'notice', text: 'break sent' },
      { type: 'notice', text: 'sending a break: no answer' },
      { type: 'notice', text: 'no break was sent: another client has the keyboard' },
    ]);
  });

  it.each(['{', '7', '{"type":"__proto__"}', '{"type":"take","more":1}', '{"type":"read","bytes":-1}'])(
    'closes the connection after an invalid text message: %s',
    async (text) => {
      fixture = await new Fixture().begin();
      fixture.console.message(Buffer.from(text), false);
      expect(fixture.closed).toEqual([expect.stringMatching(/^4400 (A text message must be|Invalid message: )/)]);
    },
  );

  it('closes the connection when the machine is removed', async () => {
    fixture = await new Fixture().begin();
    fixture.listener?.state('absent', 'there is no such machine');
    expect(fixture.closed).toEqual(['4404 there is no such machine']);
  });
});
