import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { MachineChange, MachineChangeKind, MachineChangeListener } from '../../drivers/machine-change.js';
import type { ConsoleState } from '../console-condition.js';
import type { ConsoleListener } from '../console-line.js';
import { ConsoleLogFolder } from './console-log-folder.js';
import { consoleLogBounds, type ConsoleLogBounds } from './console-log-bounds.js';
import { openConsoleLogs, type ConsoleLogs } from './console-log.js';
import type { CurrentBoot } from './console-log-recording.js';

const uuid = '5ac4fa6e-0000-4000-8000-000000000001';
const other = '5ac4fa6e-0000-4000-8000-000000000002';

/** Consoles whose output and events the test creates. */
class Ports {
  machines = [uuid];
  instance = '1';
  readonly listeners = new Map<string, ConsoleListener>();
  readonly #changes = new Set<MachineChangeListener>();

  readonly driver = {
    listSystems: () => Promise.resolve(this.machines.map((id) => ({ uuid: id, name: id }))),
    onChange: (listener: MachineChangeListener) => {
      this.#changes.add(listener);
      return () => void this.#changes.delete(listener);
    },
    console: {
      open: () => Promise.reject(new Error('the hub opens')),
      sendBreak: () => Promise.resolve(),
      instance: () => Promise.resolve(this.instance),
    },
  };
  readonly hub = {
    attach: (id: string, listener: ConsoleListener) => {
      this.listeners.set(id, listener);
      return { write: () => undefined, detach: () => void this.listeners.delete(id) };
    },
  };

  /** Prints a text on the port. */
  print(text: string | Buffer, id = uuid): void {
    this.listeners.get(id)?.data(Buffer.from(text));
  }

  /** Reports a state of the console to its listener. */
  setState(state: ConsoleState, id = uuid): void {
    this.listeners.get(id)?.state(state, '');
  }

  /** Reports a change of a machine to the log. */
  reportChange(kind: MachineChangeKind, id = uuid): void {
    const change: MachineChange = { kind, uuid: id, name: id };
    for (const listener of this.#changes) listener(change);
  }

  /** Stops the machine, and starts it as the run with this id. */
  restartMachine(instance: string): void {
    this.setState('closed');
    this.reportChange('stopped');
    this.instance = instance;
    this.reportChange('started');
    this.setState('open');
  }
}

let folder = '';
let ports: Ports;
let logs: ConsoleLogs;
let clock = 0;
let logged: string[] = [];

const startRecording = (bounds: Partial<ConsoleLogBounds> = {}): void => {
  const note = (text: string) => void logged.push(text);
  logs = openConsoleLogs({
    driver: ports.driver,
    hub: ports.hub,
    folder: path.join(folder, 'console'),
    log: { info: note, warn: note },
    // By default, the timer never fires during a test. A read of the log first writes everything.
    bounds: { ...consoleLogBounds, flushMs: 3_600_000, failurePauseMs: 5, ...bounds },
    now: () => (clock += 10),
  });
  logs.start();
};
/** Opens the logs, and waits until each machine has a listener. */
const open = async (bounds?: Partial<ConsoleLogBounds>): Promise<void> => {
  startRecording(bounds);
  await until(() => ports.machines.every((id) => ports.listeners.has(id)));
};
const restart = async (bounds?: Partial<ConsoleLogBounds>): Promise<void> => {
  await logs.close();
  await open(bounds);
};
/** Waits for a condition. Throws after 120 s. */
async function until(isMet: () => boolean): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!isMet()) {
    if (Date.now() > deadline) throw new Error('the condition was not met within 120 s');
    await sleep(5);
  }
}
/** Returns the records as text: `7:` for a boot, lines as they are. */
const recordTexts = async (id = uuid) =>
  (await logs.ofSystem(id).read()).map((record) =>
    record.kind === 'boot' ? `${record.boot.number}:` : record.line.text,
  );
const text = async (boot: number) => (await logs.ofSystem(uuid).text(boot))?.toString();
const files = () => readdirSync(path.join(folder, 'console'), { recursive: true, encoding: 'utf8' }).sort();

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'rackless-console-'));
  clock = Date.parse('2026-11-20T20:00:00Z');
  logged = [];
  ports = new Ports();
  await open();
});
afterEach(async () => {
  await logs.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the console log', () => {
  it('gives a follower the text of the running boot and then all later output, once and without gaps', async () => {
    ports.restartMachine('1');
    ports.print('firmware\r\n');
    ports.reportChange('rebooted');
    ports.print('stored ');
    await logs.ofSystem(uuid).read();
    let [heard, hasJoined] = ['', false];
    const joined = logs.ofSystem(uuid).follow(({ number, text: boot }) => {
      heard = `${number}: ${boot.toString()}`;
      hasJoined = true;
    });
    // Output arrives in each turn of the event loop, also while the log is read.
    for (let turn = 0; turn < 500; turn += 1) {
      const output = `${turn} `;
      if (hasJoined) heard += output;
      ports.print(output);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await joined;
    expect(heard).toBe(`2: stored ${Array.from({ length: 500 }, (_, turn) => `${turn} `).join('')}`);
  });

  it('gives a follower the text of the last boot if the machine is off, and an empty text if there was no boot', async () => {
    ports.restartMachine('1');
    ports.print('the end');
    ports.setState('closed');
    await restart();
    const texts: string[] = [];
    const note = ({ number, text: boot }: CurrentBoot) => void texts.push(`${number}: ${boot.toString()}`);
    await logs.ofSystem(uuid).follow(note);
    expect(texts).toEqual(['1: the end']);
    await logs.ofSystem(other).follow(note);
    expect(texts[1]).toBe('null: ');
  });

  it('stores output by boot: a start and a reset each begin a boot', async () => {
    ports.restartMachine('1');
    ports.print('\x1bcSeaBIOS\r\nlogin: ');
    ports.reportChange('rebooted');
    ports.print('SeaBIOS again\r\n');
    ports.restartMachine('2');
    ports.print('SeaBIOS of another process\r\n');
    expect(await recordTexts()).toEqual([
      '1:',
      'SeaBIOS',
      'login:',
      '2:',
      'SeaBIOS again',
      '3:',
      'SeaBIOS of another process',
    ]);
    expect(await text(1)).toBe('\x1bcSeaBIOS\r\nlogin: ');
    expect(await text(4)).toBeUndefined();
  });

  it('recognizes a start that is reported before the old process ends, or after the first output', async () => {
    ports.restartMachine('1');
    ports.print('one\r\n');
    await recordTexts();
    ports.reportChange('started');
    ports.instance = '2';
    ports.setState('open');
    ports.print('two\r\n');
    await recordTexts();
    ports.reportChange('started');
    ports.setState('taken');
    ports.setState('open');
    ports.print('and on\r\n');
    expect(await recordTexts()).toEqual([
      '1:',
      'one',
      '2:',
      'two',
      expect.stringContaining('nothing was recorded'),
      'and on',
    ]);
  });

  it('has no boot without output', async () => {
    ports.restartMachine('1');
    for (let count = 0; count < 20; count += 1) ports.reportChange('rebooted');
    expect(await recordTexts()).toEqual([]);
    ports.print('at last\r\n');
    expect(await recordTexts()).toEqual(['1:', 'at last']);
  });

  it('has the time of each boot and each line', async () => {
    ports.restartMachine('1');
    ports.print('one\r\n');
    clock += 5_000;
    ports.print('two\r\n');
    const [boot, one, two] = await logs.ofSystem(uuid).read();
    expect(boot).toEqual({
      kind: 'boot',
      boot: {
        number: 1,
        began: expect.stringMatching(/^2026-11-20T20:00:00\.\d+Z$/) as unknown,
        instance: '1',
        size: 10,
      },
    });
    const times = [one, two].map((record) =>
      record?.kind === 'line' ? new Date(record.line.time ?? NaN).toISOString() : '',
    );
    expect(times.map((time) => time.slice(0, 19))).toEqual(['2026-11-20T20:00:00', '2026-11-20T20:00:05']);
  });

  it('continues the boot after a restart of the daemon, with a note about the time in between', async () => {
    ports.restartMachine('1');
    ports.print('before\r\n');
    await restart();
    ports.setState('open');
    ports.print('after\r\n');
    expect(await recordTexts()).toEqual(['1:', 'before', expect.stringMatching(/^\[rackless: nothing was recorded between 2026-.*Z and 2026-.*Z\]$/), 'after']); // prettier-ignore
    ports.restartMachine('2');
    ports.print('second\r\n');
    expect((await recordTexts()).slice(-2)).toEqual(['2:', 'second']);
  });

  it('begins a new boot, with a note, if the machine was restarted while the daemon was down', async () => {
    ports.restartMachine('1');
    ports.print('before\r\n');
    await logs.close();
    ports.instance = '2';
    await open();
    ports.setState('open');
    ports.print('after\r\n');
    const missed = '[rackless: the log begins here: the machine was running already]';
    expect(await recordTexts()).toEqual(['1:', 'before', '2:', missed, 'after']);
  });

  it('continues the boot of a machine that moves to another host, also after a restart of the daemon', async () => {
    ports.restartMachine('left 1');
    ports.print('before\r\n');
    await recordTexts();
    ports.instance = 'right 1';
    ports.reportChange('moved');
    ports.setState('closed');
    ports.setState('open');
    ports.print('after\r\n');
    const moved = expect.stringMatching(
      /^\[rackless: nothing was recorded .*, while the machine moved to another host\]$/,
    );
    expect(await recordTexts()).toEqual(['1:', 'before', moved, 'after']);
    await logs.close();
    await open();
    ports.setState('open');
    ports.print('later\r\n');
    const missed = expect.stringMatching(/^\[rackless: nothing was recorded between/);
    expect(await recordTexts()).toEqual(['1:', 'before', moved, 'after', missed, 'later']);
    // A machine that moved while it was off begins a new boot.
    ports.reportChange('stopped');
    ports.setState('closed');
    ports.reportChange('moved');
    ports.restartMachine('left 2');
    ports.print('again\r\n');
    expect((await recordTexts()).slice(-2)).toEqual(['2:', 'again']);
  });

  it('has a note about the time in which another program used the console', async () => {
    ports.restartMachine('1');
    ports.print('before\r\n');
    ports.setState('taken');
    ports.setState('open');
    ports.print('after\r\n');
    expect((await recordTexts())[2]).toMatch(/^\[rackless: nothing was recorded between .* and .*\]$/);
    ports.setState('taken');
    ports.reportChange('rebooted');
    clock += 60_000;
    ports.setState('open');
    ports.print('next boot\r\n');
    expect((await recordTexts()).slice(-3)).toEqual(['2:', expect.stringContaining('connected at 2026-'), 'next boot']);
  });

  it('stores output that comes before the host has reported the id of the run', async () => {
    let answer: (instance: string) => void = () => undefined;
    ports.driver.console.instance = () => new Promise((resolve) => (answer = resolve));
    ports.reportChange('started');
    ports.setState('open');
    ports.print('early\r\n');
    ports.reportChange('rebooted');
    // `length` is the number of parameters: 0 for the initial function, 1 for the resolver of the promise.
    await until(() => answer.length > 0);
    answer('1');
    expect((await recordTexts()).at(-1)).toBe('early');
    ports.print('late\r\n');
    expect(await recordTexts()).toEqual(['1:', 'early', '2:', 'late']);
  });

  it('keeps the beginning and the end of a long boot; its text has a note about the gap, its lines do not', async () => {
    await restart({ segmentBytes: 100, firstSegments: 2, lastSegments: 2, maxPending: 10_000 });
    ports.restartMachine('1');
    const lines = Array.from({ length: 100 }, (_, index) => `line ${String(index).padStart(4, '0')}`);
    for (const line of lines) ports.print(`${line}\n`);
    const seen = await recordTexts();
    const gap = seen.findIndex((line) => line.startsWith('[rackless'));
    expect(gap).toBe(-1);
    const whole = (await text(1)) ?? '';
    expect(whole.startsWith('line 0000\nline 0001\n')).toBe(true);
    expect(whole.endsWith('line 0098\nline 0099\n')).toBe(true);
    expect(whole).toMatch(/\r\n\[rackless: [67]00 bytes left out\]\r\n/);
    const [boot] = await logs.ofSystem(uuid).read();
    expect(boot).toMatchObject({ boot: { size: whole.length } });
    expect(files().filter((file) => file.endsWith('.log'))).toHaveLength(4);
    await restart({ segmentBytes: 100, firstSegments: 2, lastSegments: 2 });
    expect(await text(1)).toBe(whole);
    expect(await recordTexts()).toEqual(seen);
  });

  it('keeps the newest boots and lines up to the limits', async () => {
    await restart({ boots: 3, records: 6 });
    for (let boot = 1; boot <= 5; boot += 1) {
      ports.restartMachine(String(boot));
      ports.print(`first of ${boot}\r\nsecond of ${boot}\r\n`);
      await recordTexts();
    }
    expect(await recordTexts()).toEqual(['3:', '4:', 'second of 4', '5:', 'first of 5', 'second of 5']);
    expect(files().filter((file) => /^[^/]+\/\d+$/.test(file)).map((file) => path.basename(file))).toEqual(['3', '4', '5']); // prettier-ignore
  });

  it('removes the oldest boots until the total size of all machines is within the limit', async () => {
    ports.machines = [uuid, other];
    await restart({ totalBytes: 5_000 });
    for (let boot = 1; boot <= 4; boot += 1) {
      ports.restartMachine(String(boot));
      ports.print('x'.repeat(1_000));
      await recordTexts();
    }
    ports.reportChange('started', other);
    ports.setState('open', other);
    ports.print('y'.repeat(3_000), other);
    await recordTexts(other);
    await until(() => !existsSync(path.join(folder, 'console', uuid, '2')));
    expect((await logs.ofSystem(uuid).read()).flatMap((record) => (record.kind === 'boot' ? record.boot.number : []))).toEqual([3, 4]); // prettier-ignore
    expect((await logs.ofSystem(other).read())[0]).toMatchObject({ kind: 'boot', boot: { number: 1, size: 3_000 } });
  });

  it('is empty after a clear, and later output belongs to a boot with a new number', async () => {
    ports.restartMachine('1');
    ports.print('secret\r\n');
    await logs.ofSystem(uuid).clear();
    expect(await recordTexts()).toEqual([]);
    expect(files().filter((file) => file.endsWith('.log'))).toEqual([]);
    ports.print('later\r\n');
    expect(await recordTexts()).toEqual(['2:', 'later']);
    await restart();
    ports.setState('open');
    ports.print('on\r\n');
    expect((await recordTexts())[0]).toBe('2:');
    ports.restartMachine('2');
    ports.print('next\r\n');
    expect((await recordTexts()).slice(-2)).toEqual(['3:', 'next']);
  });

  it('is removed with its machine, even if the machine was removed while the daemon was down', async () => {
    ports.machines = [uuid, other];
    await restart();
    for (const id of ports.machines) {
      ports.reportChange('started', id);
      ports.setState('open', id);
      ports.print('text\r\n', id);
      await recordTexts(id);
    }
    ports.reportChange('undefined');
    // The next change defines a new machine with the same UUID.
    ports.reportChange('defined');
    ports.reportChange('started');
    ports.setState('open');
    ports.print('of the new one\r\n');
    expect(await recordTexts()).toEqual(['1:', 'of the new one']);
    ports.machines = [uuid];
    ports.listeners.clear();
    await restart();
    await until(() => !existsSync(path.join(folder, 'console', other)));
    expect(await recordTexts()).toEqual(['1:', 'of the new one']);
  });

  it('is readable for its owner only', async () => {
    ports.restartMachine('1');
    ports.print('password\r\n');
    await recordTexts();
    const modes = files().map((file) => (statSync(path.join(folder, 'console', file)).mode & 0o777).toString(8));
    expect([...new Set(modes)].sort()).toEqual(['600', '700']);
    expect(statSync(path.join(folder, 'console')).mode & 0o777).toBe(0o700);
  });

  it('continues after failed writes, warns once, and notes the missing text', async () => {
    await restart({ retryMs: 0 });
    rmSync(path.join(folder, 'console'), { recursive: true, force: true });
    writeFileSync(path.join(folder, 'console'), 'in the way');
    ports.restartMachine('1');
    for (let count = 0; count < 3; count += 1) {
      ports.print('lost\r\n');
      await recordTexts().catch(() => undefined);
    }
    expect(logged).toEqual([expect.stringMatching(/^writing console logs to .* failed: new output is not stored$/)]);
    rmSync(path.join(folder, 'console'));
    ports.print('after\r\n');
    expect(await recordTexts()).toEqual(['1:', '[rackless: 18 bytes left out]', 'after']);
    expect(logged.at(-1)).toMatch(/^writing console logs works again in /);
  });

  it('writes in the background, within the limits of burst and rate', async () => {
    await restart({ flushMs: 5, burstBytes: 3_000, bytesPerSecond: 1, maxPending: 1_000, flushBytes: 500 });
    ports.restartMachine('1');
    const file = path.join(folder, 'console', uuid, '1', '0.log');
    const size = () => (existsSync(file) ? statSync(file).size : 0);
    ports.print('few');
    await until(() => size() === 3);
    for (let count = 0; count < 50; count += 1) {
      ports.print('z'.repeat(400));
      await sleep(1);
    }
    await until(() => size() > 1_500);
    expect(size()).toBeLessThanOrEqual(3_200);
    // A read of the log first writes the remaining text, with a note about the gap.
    expect(await text(1)).toMatch(/\[rackless: \d+ bytes left out\]\r\nz+$/);
  });

  it('reads files that a killed daemon left incomplete', async () => {
    ports.restartMachine('1');
    ports.print('one\r\n');
    await logs.close();
    const boot = path.join(folder, 'console', uuid, '1');
    writeFileSync(path.join(boot, '0.times'), `${readFileSync(path.join(boot, '0.times'), 'utf8')}12 17`);
    writeFileSync(path.join(boot, 'boot.json'), '{"beg');
    writeFileSync(path.join(folder, 'console', uuid, 'notes.txt'), 'of the administrator');
    await open();
    expect(await recordTexts()).toEqual(['1:', 'one']);
    ports.setState('open');
    ports.print('two\r\n');
    expect((await recordTexts()).slice(2)).toEqual(['2:', expect.stringContaining('was running already'), 'two']);
  });

  it('removes the folder of a deleted machine as soon as it can, and warns once', async () => {
    ports.restartMachine('1');
    ports.print('one\r\n');
    await logs.close();
    ports.machines = [other];
    const removed = jest.spyOn(ConsoleLogFolder.prototype, 'remove');
    for (let failures = 0; failures < 3; failures += 1)
      removed.mockRejectedValueOnce(new Error('device or resource busy'));
    try {
      await open();
      await until(() => !existsSync(path.join(folder, 'console', uuid)));
    } finally {
      removed.mockRestore();
    }
    expect(logged).toEqual([
      expect.stringMatching(/^removing console logs of deleted machines in .* failed: the daemon retries later$/),
    ]);
  });

  it('attaches to at most four machines in each turn of the event loop, so that clients do not wait', async () => {
    ports.machines = Array.from({ length: 200 }, (_, index) => `${uuid.slice(0, -3)}${String(index).padStart(3, '0')}`);
    const [removed = '', ...others] = ports.machines.toReversed();
    let [most, before] = [0, 0];
    await logs.close();
    startRecording();
    while (ports.listeners.size < others.length) {
      await nextTurn();
      most = Math.max(most, ports.listeners.size - before);
      before = ports.listeners.size;
      // Removes a machine before its recording begins, so the log must not attach to it.
      if (before > 20) ports.reportChange('undefined', removed);
    }
    await sleep(50);
    expect(most).toBeLessThanOrEqual(4);
    expect([...ports.listeners.keys()].toSorted()).toEqual(others.toSorted());
  });

  it('attaches to the consoles of all machines while the disk does not answer', async () => {
    ports.machines = Array.from({ length: 20 }, (_, index) => `${uuid.slice(0, -2)}${index + 10}`);
    await logs.close();
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    const disk = jest.spyOn(ConsoleLogFolder.prototype, 'boots').mockImplementation(() => held.then(() => []));
    startRecording();
    try {
      for (let turn = 0; turn < 100; turn += 1) await nextTurn();
      expect([...ports.listeners.keys()].toSorted()).toEqual(ports.machines);
    } finally {
      answer();
      disk.mockRestore();
    }
  });

  it('begins a new boot for a reset that is reported before the recording begins', async () => {
    ports.restartMachine('1');
    ports.print('before\r\n');
    await logs.close();
    const others = Array.from({ length: 200 }, (_, index) => `${other.slice(0, -3)}${String(index).padStart(3, '0')}`);
    ports.machines = [...others.filter((id) => id !== uuid), uuid];
    startRecording();
    while (ports.listeners.size === 0) await nextTurn();
    expect(ports.listeners.has(uuid)).toBe(false);
    ports.reportChange('rebooted');
    ports.setState('open');
    ports.print('after\r\n');
    expect((await recordTexts()).filter((line) => !line.startsWith('['))).toEqual(['1:', 'before', '2:', 'after']);
  });

  it('waits for a host that does not answer yet', async () => {
    await logs.close();
    ports.listeners.clear();
    let isReachable = false;
    const { listSystems } = ports.driver;
    let asked = 0;
    ports.driver.listSystems = () => {
      asked += 1;
      return isReachable ? listSystems() : Promise.reject(new Error('no host'));
    };
    const opened = open();
    await until(() => asked > 1);
    expect(ports.listeners.size).toBe(0);
    isReachable = true;
    await opened;
    expect(ports.listeners.size).toBe(1);
  });
});
