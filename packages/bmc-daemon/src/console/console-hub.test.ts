import { PassThrough, type Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { DriverError } from '../drivers/driver-error.js';
import { FakeDriver } from '../drivers/fake/fake-driver.js';
import { createConsoleHub, type ConsoleHub } from './console-hub.js';
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
 * Attaches a listener to a console whose attempts give these results in this order.
 * @param after the result of all later attempts.
 */
function attachedTo(answers: (DriverError | Duplex)[], after: DriverError): { ear: Ear; warnings: readonly unknown[] } {
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
  const ear = new Ear();
  hub.attach('5ac4fa6e-0000-4000-8000-000000000001', ear);
  return { ear, warnings };
}

/** Records output and states. */
class Ear implements ConsoleListener {
  heard = '';
  readonly states: string[] = [];
  #changed: (() => void)[] = [];

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

  async hears(end: string): Promise<string> {
    await this.until(() => this.heard.endsWith(end));
    const { heard } = this;
    this.heard = '';
    return heard;
  }

  async is(...states: readonly string[]): Promise<void> {
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

async function machine(driver: FakeDriver, name: string): Promise<string> {
  return (await driver.getSystem(name)).uuid;
}

describe('the console hub', () => {
  it('shares one console among several clients', async () => {
    const driver = new FakeDriver();
    const hub = hubOn(driver);
    const uuid = await machine(driver, 'node-2');
    const [first, second] = [new Ear(), new Ear()];
    const one = hub.attach(uuid, first);
    await first.is(connected);
    const two = hub.attach(uuid, second);
    await second.is(connected);
    one.write(Buffer.from('a'));
    two.write(Buffer.from('b\r'));
    expect(await first.hears('login: ')).toBe('ab\r\nnode-2 login: ');
    expect(await second.hears('login: ')).toBe('ab\r\nnode-2 login: ');
    await hub.sendBreak(uuid);
    expect(await second.hears('HELP\r\n')).toBe('\r\nsysrq: HELP\r\n');
    two.detach();
    two.detach();
    one.write(Buffer.from('\r'));
    await first.hears('login: ');
    expect(second.heard).toBe('');
  });

  it('closes the console when the last client leaves', async () => {
    const driver = new FakeDriver();
    const hub = hubOn(driver);
    const uuid = await machine(driver, 'node-2');
    const ear = new Ear();
    const attached = hub.attach(uuid, ear);
    await ear.is(connected);
    await expect(driver.console.open(uuid)).rejects.toMatchObject({ kind: 'consoleInUse' });
    attached.detach();
    // Same for a client that leaves before the console is open.
    hub.attach(uuid, ear).detach();
    let stream: Duplex | undefined;
    while (stream === undefined) stream = await driver.console.open(uuid).catch(() => undefined);
    stream.destroy();
    expect(ear.states).toEqual([]);
  });

  it('reopens with each start of a machine, and receives its first output', async () => {
    const driver = new FakeDriver();
    const hub = hubOn(driver);
    const uuid = await machine(driver, 'node-1');
    const ear = new Ear();
    const attached = hub.attach(uuid, ear);
    await ear.is(off);
    let thrownAway = false;
    attached.write(Buffer.from('lost'), () => (thrownAway = true));
    expect(thrownAway).toBe(true);
    for (let start = 0; start < 3; start += 1) {
      await driver.power(uuid, 'create');
      await ear.is(connected);
      expect(await ear.hears('login: ')).toMatch(/^\r\nRackless simulated firmware/);
      await driver.power(uuid, 'destroy');
      await ear.is(off);
    }
    await driver.power(uuid, 'create');
    await ear.hears('login: ');
    await ear.is(connected);
    // Stopping and starting at the same time is a new run too.
    await Promise.all([driver.power(uuid, 'destroy'), driver.power(uuid, 'create')]);
    expect(await ear.hears('login: ')).toMatch(/^\r\nRackless simulated firmware/);
    await ear.is(connected);
  });

  it('yields to a program that takes the console by force, and reconnects when it is free', async () => {
    const driver = new FakeDriver();
    const hub = hubOn(driver);
    const uuid = await machine(driver, 'node-2');
    const ear = new Ear();
    const attached = hub.attach(uuid, ear);
    await ear.is(connected);
    const leave = driver.console.seize(uuid);
    await ear.is(taken);
    leave();
    await ear.is(connected);
    attached.write(Buffer.from('\r'));
    await ear.hears('login: ');
    const leaveAgain = driver.console.seize(uuid);
    await ear.is(taken);
    await driver.power(uuid, 'destroy');
    await ear.is(off);
    leaveAgain();
  });

  it('reports machines that do not exist or have no serial port', async () => {
    const driver = new FakeDriver();
    const hub = hubOn(driver);
    const { hasConsole, ...without } = await driver.getSystem('node-3');
    expect(hasConsole).toBe(true);
    driver.define(without);
    const [portless, missing, removed] = [new Ear(), new Ear(), new Ear()];
    hub.attach(without.uuid, portless);
    await portless.is('absent: it has no serial port for clients');
    hub.attach('5ac4fa6e-0000-4000-8000-00000000ffff', missing);
    await missing.is(gone);
    hub.attach(await machine(driver, 'node-2'), removed);
    await removed.is(connected);
    driver.undefine('node-2');
    await removed.is(gone);
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
    const { ear, warnings } = attachedTo(answers, broken);
    await ear.is('closed: its hypervisor does not answer', 'closed: its console cannot be opened', connected);
    expect(warnings).toEqual([broken]);
  });

  it('does not warn about a port that disappears just before its machine is off', async () => {
    const stream = new PassThrough();
    const off = new DriverError('conflict', 'connecting to the console of machine x: it is off');
    const answers: (DriverError | Duplex)[] = [
      stream,
      new DriverError('internal', "connecting to the console of machine x: cannot open '/dev/pts/0'"),
    ];
    const { ear, warnings } = attachedTo(answers, off);
    await ear.is(connected);
    stream.destroy();
    await ear.is('closed: the machine is off');
    expect(warnings).toEqual([]);
  });

  it('delays writers until the guest reads, and releases them when the machine stops', async () => {
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
    const ear = new Ear();
    const attached = hub.attach('5ac4fa6e-0000-4000-8000-000000000001', ear);
    await ear.is(connected);
    stream.pause();
    let taken = 0;
    const all = new Promise<void>((resolve) => {
      for (let key = 0; key < 8; key += 1)
        attached.write(Buffer.from('key '), () => {
          taken += 1;
          if (taken === 8) resolve();
        });
    });
    await new Promise(setImmediate);
    expect(taken).toBeLessThan(8);
    stream.destroy();
    await all;
  });
});
