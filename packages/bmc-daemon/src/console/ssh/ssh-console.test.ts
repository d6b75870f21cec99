import { Duplex, Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import type { ServerChannel } from 'ssh2';
import type { ConsoleListener } from '../console-line.js';
import { SshConsole } from './ssh-console.js';

/**
 * Makes the parts of a channel that a console uses. The client reads nothing. A test types with the event `data` of
 * `typed`.
 */
function unreadChannel(): { readonly channel: ServerChannel; readonly typed: Duplex } {
  const typed = new Duplex({ read: () => undefined, write: () => undefined });
  const channel = Object.assign(typed, {
    stderr: new Writable({ write: () => undefined }),
    exit: () => undefined,
    close: () => undefined,
  });
  // A console uses nothing else of a channel.
  return { channel: channel as unknown as ServerChannel, typed };
}

/** Opens a console at a hub that accepts all input. Reports the console as open. */
function open(options: { readonly terminal: boolean; readonly sendBreak: () => Promise<void> }): {
  readonly typed: Duplex;
  readonly channel: ServerChannel;
} {
  const { channel, typed } = unreadChannel();
  let listener: ConsoleListener | undefined;
  new SshConsole({
    channel,
    unsentBytes: () => 0,
    machine: { uuid: 'c7a5fdbd-cdaf-9455-926a-d65c16db1809', name: 'node-1' },
    terminal: options.terminal,
    clientName: 'olga at 192.0.2.7',
    hub: {
      seat: (_uuid, client) => {
        listener = client;
        return {
          takeKeyboard: () => undefined,
          releaseKeyboard: () => undefined,
          write(_bytes, taken) {
            taken?.();
            return true;
          },
          sendBreak: async () => {
            await options.sendBreak();
            return true;
          },
          detach: () => undefined,
        };
      },
    },
    onEnd: () => undefined,
  });
  listener?.state('open', 'connected');
  return { channel, typed };
}

describe('an SSH console', () => {
  it.each([true, false])(
    'buffers only a little over 1 MiB for a client that asks for help and never reads; terminal: %s',
    (terminal) => {
      const { channel, typed } = open({ terminal, sendBreak: () => Promise.resolve() });
      for (let round = 0; round < 100; round += 1) typed.emit('data', Buffer.from('\r~?'.repeat(1000)));
      expect(channel.writableLength + channel.stderr.writableLength).toBeGreaterThan(1024 * 1024);
      expect(channel.writableLength + channel.stderr.writableLength).toBeLessThan(1024 * 1024 + 1024);
    },
  );

  it('does not store input after the client has left', () => {
    const { typed } = open({ terminal: true, sendBreak: () => Promise.resolve() });
    typed.emit('data', Buffer.from('\r~.'));
    const before = process.memoryUsage().arrayBuffers;
    const bytes = Buffer.alloc(1024 * 1024, 'x');
    for (let round = 0; round < 64; round += 1) typed.emit('data', bytes);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  });

  it('sends one break at a time, even if the client pastes several', async () => {
    const breaks: (() => void)[] = [];
    const { typed } = open({ terminal: true, sendBreak: () => new Promise((resolve) => breaks.push(resolve)) });
    typed.emit('data', Buffer.from('\r~B\r~B\r~B'));
    expect(breaks).toHaveLength(1);
    breaks[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
    typed.emit('data', Buffer.from('\r~B'));
    expect(breaks).toHaveLength(2);
  });
});
