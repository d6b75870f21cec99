import { EventEmitter, once } from 'node:events';
import { Duplex, PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { DriverError } from '../drivers/driver-error.js';
import { FakeDriver } from '../drivers/fake/fake-driver.js';
import type { MachineChange } from '../drivers/machine-change.js';
import { createConsoleHub, type ConsoleHub } from './console-hub.js';
import type { KeyboardClient, KeyboardStatus } from './console-keyboard.js';
import type { ConsoleListener } from './console-line.js';

const log = { info: () => undefined, warn: () => undefined, debug: () => undefined };
const hubs: ConsoleHub[] = [];

afterEach(() => {
  for (const hub of hubs.splice(0)) hub.close();
});

function hubOn(driver: Parameters<typeof createConsoleHub>[0]['driver']): ConsoleHub {
  const hub = createConsoleHub({ driver, log, retryMs: 5 });
  hubs.push(hub);
  return hub;
}

/**
 * Attaches a listener to a console.
 * @param answers the results of the first attempts to open the console.
 * @param after the result of all later attempts.
 * @returns the listener, and the errors of the warnings so far.
 */
function attachedTo(
  answers: (DriverError | Duplex)[],
  after: DriverError,
): { listener: RecordingListener; warnings: readonly unknown[] } {
  const warnings: unknown[] = [];
  const driver = new FakeDriver();
  const hub = createConsoleHub({
    driver: {
      onChange: (listener) => driver.onChange(listener),
      console: {
        open: () => {
          const answer = answers.shift() ?? after;
          return answer instanceof DriverError ? Promise.reject(answer) : Promise.resolve(answer);
        },
        sendBreak: () => Promise.resolve(),
      },
    },
    log: { ...log, warn: (_message, fields) => warnings.push(fields?.['error']) },
    retryMs: 5,
  });
  hubs.push(hub);
  const listener = new RecordingListener();
  hub.attach('5ac4fa6e-0000-4000-8000-000000000001', listener);
  return { listener, warnings };
}

/** A listener that records output and states. */
class RecordingListener implements ConsoleListener, KeyboardClient {
  readonly name: string;
  heard = '';
  /** The last status of the keyboard. */
  status: KeyboardStatus | undefined;
  readonly states: string[] = [];
  #changed: (() => void)[] = [];

  constructor(name = 'olga') {
    this.name = name;
  }

  keyboard(status: KeyboardStatus): void {
    this.status = status;
    this.#wake();
  }

  data(bytes: Buffer): void {
    this.heard += bytes.toString('latin1');
    this.#wake();
  }

  state(state: string, why: string): void {
    this.states.push(`${state}: ${why}`);
    this.#wake();
  }

  async until(reached: () => boolean): Promise<void> {
    while (!reached()) await new Promise<void>((resolve) => this.#changed.push(resolve));
  }

  /** Waits until the output ends with `end`. Returns the output since the last call. */
  async receives(end: string): Promise<string> {
    await this.until(() => this.heard.endsWith(end));
    const { heard } = this;
    this.heard = '';
    return heard;
  }

  /** Waits for as many states as are given, and fails if they are different. Forgets these states. */
  async reaches(...states: readonly string[]): Promise<void> {
    await this.until(() => this.states.length >= states.length);
    expect(this.states.splice(0)).toEqual(states);
  }

  #wake(): void {
    for (const wake of this.#changed.splice(0)) wake();
  }
}

const connected = 'open: connected';
const off = 'closed: the machine is off';
const taken = 'taken: another program uses the console';
const gone = 'absent: there is no such machine';

async function uuidOf(driver: FakeDriver, name: string): Promise<string> {
  return (await driver.getSystem(name)).uuid;
}

describe('the console hub', () => {
  it('shares one console among several clients, of which only the holder of the keyboard can type', async () => {
    const driver = new FakeDriver();
    const hub = hubOn(driver);
    const uuid = await uuidOf(driver, 'node-2');
    const [first, second] = [new RecordingListener(), new RecordingListener()];
    const one = hub.seat(uuid, first);
    await first.reaches(connected);
    const two = hub.seat(uuid, second);
    await second.reaches(connected);
    expect(one.write(Buffer.from('a'))).toBe(true);
    expect(two.write(Buffer.from('lost'))).toBe(false);
    expect(await two.sendBreak()).toBe(false);
    one.releaseKeyboard();
    expect(two.write(Buffer.from('b\r'))).toBe(true);
    expect(await first.receives('login: ')).toBe('ab\r\nnode-2 login: ');
    expect(await second.receives('login: ')).toBe('ab\r\nnode-2 login: ');
    expect(await two.sendBreak()).toBe(true);
    expect(await second.receives('HELP\r\n')).toBe('\r\nsysrq: HELP\r\n');
    two.detach();
    two.detach();
    one.write(Buffer.from('\r'));
    await first.receives('login: ');
    expect(second.heard).toBe('');
  });

  it('closes the console when the last client leaves', async () => {
    const driver = new FakeDriver();
    const hub = hubOn(driver);
    const uuid = await uuidOf(driver, 'node-2');
    const listener = new RecordingListener();
    const attached = hub.seat(uuid, listener);
    await listener.reaches(connected);
    await expect(driver.console.open(uuid)).rejects.toMatchObject({ kind: 'consoleInUse' });
    attached.detach();
    // The hub also closes the console for a client that leaves before the console is open.
    hub.attach(uuid, listener).detach();
    let stream: Duplex | undefined;
    while (stream === undefined) stream = await driver.console.open(uuid).catch(() => undefined);
    stream.destroy();
    expect(listener.states).toEqual([]);
  });

  it('opens the console at each start of its machine, and receives the first output of the start', async () => {
    const driver = new FakeDriver();
    const hub = hubOn(driver);
    const uuid = await uuidOf(driver, 'node-1');
    const listener = new RecordingListener();
    const attached = hub.seat(uuid, listener);
    await listener.reaches(off);
    let thrownAway = false;
    attached.write(Buffer.from('lost'), () => (thrownAway = true));
    expect(thrownAway).toBe(true);
    for (let start = 0; start < 3; start += 1) {
      await driver.power(uuid, 'create');
      await listener.reaches(connected);
      expect(await listener.receives('login: ')).toMatch(/^\r\nRackless simulated firmware/);
      await driver.power(uuid, 'destroy');
      await listener.reaches(off);
    }
    await driver.power(uuid, 'create');
    await listener.receives('login: ');
    await listener.reaches(connected);
    // A stop and a start at the same time are also a new run.
    await Promise.all([driver.power(uuid, 'destroy'), driver.power(uuid, 'create')]);
    expect(await listener.receives('login: ')).toMatch(/^\r\nRackless simulated firmware/);
    await listener.reaches(connected);
  });

  it('waits after another program took the console by force, and reconnects when the console is free', async () => {
    const driver = new FakeDriver();
    const hub = hubOn(driver);
    const uuid = await uuidOf(driver, 'node-2');
    const listener = new RecordingListener();
    const attached = hub.seat(uuid, listener);
    await listener.reaches(connected);
    const leave = driver.console.seize(uuid);
    await listener.reaches(taken);
    leave();
    await listener.reaches(connected);
    attached.write(Buffer.from('\r'));
    await listener.receives('login: ');
    const leaveAgain = driver.console.seize(uuid);
    await listener.reaches(taken);
    await driver.power(uuid, 'destroy');
    await listener.reaches(off);
    leaveAgain();
  });

  it('reports machines that do not exist or have no serial port', async () => {
    const driver = new FakeDriver();
    const hub = hubOn(driver);
    const { hasConsole, ...without } = await driver.getSystem('node-3');
    expect(hasConsole).toBe(true);
    driver.define(without);
    const [portless, missing, removed] = [new RecordingListener(), new RecordingListener(), new RecordingListener()];
    hub.attach(without.uuid, portless);
    await portless.reaches('absent: it has no serial port for clients');
    hub.attach('5ac4fa6e-0000-4000-8000-00000000ffff', missing);
    await missing.reaches(gone);
    hub.attach(await uuidOf(driver, 'node-2'), removed);
    await removed.reaches(connected);
    driver.undefine('node-2');
    await removed.reaches(gone);
  });

  it('retries while the host does not answer, and warns once about unexpected errors', async () => {
    const stream = new PassThrough();
    const broken = new DriverError('internal', 'connecting to the console of machine x: it burns');
    const answers: (DriverError | Duplex)[] = [
      new DriverError('unavailable', 'asking libvirt: there is no connection to the host'),
      broken,
      broken,
      stream,
    ];
    const { listener, warnings } = attachedTo(answers, broken);
    await listener.reaches('closed: its hypervisor does not answer', 'closed: its console cannot be opened', connected);
    expect(warnings).toEqual([broken]);
  });

  it('warns once about a proxy that cannot be reached, and again after the console was open', async () => {
    const stream = new PassThrough();
    const [first, later] = ['ECONNREFUSED', 'ETIMEDOUT'].map(
      (why) => new DriverError('consoleUnreachable', `connecting to the console of server x: ${why}`),
    ) as [DriverError, DriverError];
    const { listener, warnings } = attachedTo([first, first, stream], later);
    const closed = 'closed: the connection to the proxy of its console failed';
    await listener.reaches(closed, connected);
    stream.destroy();
    await listener.reaches(closed);
    expect(warnings).toEqual([first, later]);
  });

  it('does not warn if the last client leaves during an attempt', async () => {
    const warnings: unknown[] = [];
    const aborted = new EventEmitter();
    const hub = createConsoleHub({
      driver: {
        onChange: () => () => undefined,
        console: {
          open: (_id, { signal } = {}) =>
            new Promise((_resolve, reject) => {
              signal?.addEventListener('abort', () => {
                reject(new DriverError('consoleUnreachable', 'connecting to the console of server x: it was aborted'));
                setImmediate(() => aborted.emit('done'));
              });
            }),
          sendBreak: () => Promise.resolve(),
        },
      },
      log: { ...log, warn: (message) => warnings.push(message) },
    });
    hubs.push(hub);
    const attachment = hub.attach('5ac4fa6e-0000-4000-8000-000000000001', new RecordingListener());
    const done = once(aborted, 'done');
    attachment.detach();
    await done;
    expect(warnings).toEqual([]);
  });

  it.each([
    ['internal', 'a port that disappears'],
    ['consoleUnreachable', 'a proxy that rejects a connection'],
  ] as const)('does not warn about the error %s of %s just before its machine is off', async (kind, why) => {
    const stream = new PassThrough();
    const off = new DriverError('conflict', 'connecting to the console of machine x: it is off');
    const answers = [stream, new DriverError(kind, `connecting to the console of machine x: ${why}`)];
    const { listener, warnings } = attachedTo(answers, off);
    await listener.reaches(connected);
    stream.destroy();
    await listener.reaches('closed: the machine is off');
    expect(warnings).toEqual([]);
  });

  it('delays writers while the guest does not read, and releases them when the stream closes', async () => {
    const driver = new FakeDriver();
    const stream = new PassThrough({ highWaterMark: 4 });
    const hub = createConsoleHub({
      driver: {
        onChange: (listener) => driver.onChange(listener),
        console: { open: () => Promise.resolve(stream), sendBreak: () => Promise.resolve() },
      },
      log,
    });
    hubs.push(hub);
    const listener = new RecordingListener();
    const attached = hub.seat('5ac4fa6e-0000-4000-8000-000000000001', listener);
    await listener.reaches(connected);
    stream.pause();
    let accepted = 0;
    const all = new Promise<void>((resolve) => {
      for (let key = 0; key < 8; key += 1)
        attached.write(Buffer.from('key '), () => {
          accepted += 1;
          if (accepted === 8) resolve();
        });
    });
    await new Promise(setImmediate);
    expect(accepted).toBeLessThan(8);
    stream.destroy();
    await all;
  });
});

describe('the stream of a console', () => {
  const uuid = '5ac4fa6e-0000-4000-8000-000000000001';
  const inUse = new DriverError('consoleInUse', 'connecting to the console of machine x: another client is connected');
  const isOff = new DriverError('conflict', 'connecting to the console of machine x: it is off');
  const soon = { firstMs: 5, maxMs: 20, afterInputMs: 5, afterChangeMs: 5, noticeMs: 0 };
  const never = { ...soon, firstMs: 3_600_000, maxMs: 3_600_000 };

  /** Returns a port that accepts all input, and prints nothing. */
  const silentPort = () => new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });

  /** Returns a port that has printed once. */
  const printedPort = () => {
    const port = silentPort();
    port.push('x');
    return port;
  };

  /** Creates a hub for a port. `answer` gives the result of each attempt to open the port. */
  function hubAt(
    answer: () => Promise<Duplex>,
    silence = soon,
    { acceptsSecondClient, retryMs = 5 }: { readonly acceptsSecondClient?: true; readonly retryMs?: number } = {},
  ) {
    let attempts = 0;
    const listeners = new Set<(change: MachineChange) => void>();
    const infos: string[] = [];
    const hub = createConsoleHub({
      driver: {
        onChange(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        console: {
          open: () => {
            attempts += 1;
            return answer();
          },
          sendBreak: () => Promise.resolve(),
          acceptsSecondClient,
        },
      },
      log: { ...log, info: (message) => infos.push(message) },
      retryMs,
      silence,
    });
    hubs.push(hub);
    return {
      hub,
      infos,
      attempts: () => attempts,
      change: (kind: MachineChange['kind']) => {
        for (const listener of listeners) listener({ kind, uuid, name: 'x' });
      },
    };
  }

  it('is replaced when a check finds the port free, and listeners learn since when output may be missing', async () => {
    const [lost, next] = [printedPort(), silentPort()];
    const answers: (Duplex | DriverError)[] = [lost, inUse, inUse, inUse, next];
    const port = hubAt(() => {
      const answer = answers.shift() ?? inUse;
      return answer instanceof DriverError ? Promise.reject(answer) : Promise.resolve(answer);
    });
    const listener = new RecordingListener();
    const attached = port.hub.seat(uuid, listener);
    await listener.until(() => listener.states.length === 2);
    expect(listener.states).toEqual([
      connected,
      expect.stringMatching(/^open: connected again, output since 20[^ ]*Z may be missing$/),
    ]);
    expect(lost.destroyed).toBe(true);
    expect(port.infos).toEqual(['the console of a machine was lost: connected again']);
    next.push('hello');
    await listener.receives('hello');
    await new Promise<void>((resolve) => attached.write(Buffer.from('x'), resolve));
  });

  it('releases its writers when another stream replaces it', async () => {
    const stuck = new Duplex({ read: () => undefined, write: () => undefined });
    const answers = [stuck, silentPort()];
    const port = hubAt(() => Promise.resolve(answers.shift() ?? silentPort()), { ...never, afterInputMs: 5 });
    const listener = new RecordingListener();
    const attached = port.hub.seat(uuid, listener);
    await listener.reaches(connected);
    await new Promise<void>((resolve) => attached.write(Buffer.from('x'), resolve));
    expect(stuck.destroyed).toBe(true);
  });

  it('stays open while the port is in use, because the guest may only be silent', async () => {
    const silent = printedPort();
    const answers = [silent];
    const enough = new EventEmitter();
    const port = hubAt(() => {
      const answer = answers.shift();
      if (port.attempts() === 6) enough.emit('reached');
      return answer === undefined ? Promise.reject(inUse) : Promise.resolve(answer);
    });
    const listener = new RecordingListener();
    const reached = once(enough, 'reached');
    port.hub.attach(uuid, listener);
    await reached;
    silent.push('still here');
    await listener.receives('still here');
    expect(listener.states).toEqual([connected]);
  });

  it('is closed when its machine is off; the next start of the machine opens another stream', async () => {
    const [lost, next] = [silentPort(), silentPort()];
    let isOn = true;
    const answers = [lost, next];
    const port = hubAt(() => {
      const answer = isOn ? answers.shift() : undefined;
      return answer === undefined ? Promise.reject(isOn ? inUse : isOff) : Promise.resolve(answer);
    }, never);
    const listener = new RecordingListener();
    port.hub.attach(uuid, listener);
    await listener.reaches(connected);
    isOn = false;
    port.change('stopped');
    await listener.reaches(off);
    isOn = true;
    port.change('started');
    await listener.reaches(connected);
    next.push('hello');
    await listener.receives('hello');
  });

  it('is replaced if a restart of its machine did not end it', async () => {
    const answers = [silentPort(), silentPort()];
    const port = hubAt(() => Promise.resolve(answers.shift() ?? silentPort()), never);
    const listener = new RecordingListener();
    port.hub.attach(uuid, listener);
    await listener.reaches(connected);
    port.change('stopped');
    port.change('started');
    await listener.until(() => listener.states.length === 1);
    expect(listener.states[0]).toMatch(/connected again/);
  });

  it.each(['started', 'rebooted', 'stopped'] as const)(
    'is replaced without a check after its machine has %s, if the hypervisor accepts a second client',
    async (kind) => {
      const lost = printedPort();
      const answers = [lost];
      const port = hubAt(() => Promise.resolve(answers.shift() ?? printedPort()), never, { acceptsSecondClient: true });
      const listener = new RecordingListener();
      port.hub.attach(uuid, listener);
      await listener.receives('x');
      expect(port.attempts()).toBe(1);
      port.change(kind);
      await listener.receives('x');
      expect([lost.destroyed, listener.states]).toEqual([true, [connected, connected]]);
    },
  );

  it('is opened at once after a reboot of its machine, even during a long pause between attempts', async () => {
    let isReady = false;
    const notReady = new DriverError('consoleNotReady', 'connecting to the console of machine x: it is starting');
    const open = () => (isReady ? Promise.resolve(silentPort()) : Promise.reject(notReady));
    const { hub, change } = hubAt(open, never, { retryMs: 3_600_000 });
    const listener = new RecordingListener();
    hub.attach(uuid, listener);
    await listener.reaches('closed: the machine is starting or stopping');
    isReady = true;
    change('rebooted');
    await listener.reaches(connected);
  });

  it.each(['before', 'after'])('is replaced by exactly one stream if it ends %s a check succeeds', async (order) => {
    const [old, next] = [printedPort(), silentPort()];
    let finish: ((stream: Duplex) => void) | undefined;
    const checking = new EventEmitter();
    const port = hubAt(() => {
      if (port.attempts() === 1) return Promise.resolve(old);
      if (port.attempts() > 2) return Promise.reject(inUse);
      return new Promise<Duplex>((resolve) => {
        finish = resolve;
        checking.emit('begun');
      });
    });
    const listener = new RecordingListener();
    const begun = once(checking, 'begun');
    port.hub.attach(uuid, listener);
    await begun;
    const ended = once(old, 'close');
    if (order === 'after') finish?.(next);
    old.destroy();
    await ended;
    finish?.(next);
    await listener.until(() => listener.states.length === 2);
    next.push('hello');
    await listener.receives('hello');
    expect(listener.states.filter((state) => state.startsWith('taken'))).toEqual([]);
  });

  it('is checked only while no other stream is checked, however many consoles are silent', async () => {
    let [running, most] = [0, 0];
    const isOpen = new Set<string>();
    const checked = new EventEmitter();
    const hub = createConsoleHub({
      driver: {
        onChange: () => () => undefined,
        console: {
          async open(id) {
            if (!isOpen.has(id)) {
              isOpen.add(id);
              return printedPort();
            }
            running += 1;
            most = Math.max(most, running);
            await new Promise(setImmediate);
            running -= 1;
            checked.emit(id);
            throw inUse;
          },
          sendBreak: () => Promise.resolve(),
        },
      },
      log,
      silence: soon,
    });
    hubs.push(hub);
    const ids = ['a', 'b', 'c'];
    const all = Promise.all(ids.map((id) => once(checked, id)));
    for (const id of ids) hub.attach(id, new RecordingListener());
    await all;
    expect(most).toBe(1);
  });
});
