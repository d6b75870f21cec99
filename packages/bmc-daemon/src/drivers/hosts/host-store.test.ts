import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { HostMember } from './host-member.js';
import { openHostStore } from './host-store.js';
import { KnownMachines } from './known-machines.js';

let folder: string;
let file: string;
let logged: string[];

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance', 'queueMicrotask'] });
  folder = mkdtempSync(path.join(tmpdir(), 'host-store-'));
  file = path.join(folder, 'hosts.json');
  logged = [];
});

afterEach(() => {
  jest.useRealTimers();
  rmSync(folder, { recursive: true });
});

const log = { warn: (line: string) => logged.push(line), error: (line: string) => logged.push(line) };
const uuidOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
const uri = 'qemu:///system';

/** Opens a store with one host that has this number of machines. */
function openStore(count: number) {
  const store = openHostStore(folder, log);
  const known = new KnownMachines('rack-1', undefined);
  known.replace(Array.from({ length: count }, (_, index) => ({ uuid: uuidOf(index), name: `machine-${index}` })));
  // The store uses only these members.
  store.add({ name: 'rack-1', uri, known } as HostMember, () => true);
  return { store, known };
}

/** Stops or starts the first machine, and lets the time until the write pass. */
function change({ store, known }: ReturnType<typeof openStore>, kind: 'started' | 'stopped'): void {
  known.remember({ ...known.refs.get(uuidOf(0)), state: 'shutoff' } as Parameters<typeof known.remember>[0]);
  known.note({ kind, uuid: uuidOf(0), name: 'machine-0' });
  store.scheduleWrite();
  jest.advanceTimersByTime(5_000);
}

/** Waits for a condition. Fails after 20 s. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!condition() && performance.now() < deadline) await nextTurn();
  expect(condition()).toBe(true);
}

const stateOnDisk = (): string | undefined =>
  openHostStore(folder, log).machinesOf({ name: 'rack-1', uri })?.[0]?.state;
const isOnDisk = (state: string) => (): boolean => existsSync(file) && readFileSync(file, 'utf8').includes(state);

describe('the store of the last known machines', () => {
  it('lets other work run during a write, and writes all machines of a host', async () => {
    const opened = openStore(2_000);
    change(opened, 'started');
    // The timer has started the write. A write that blocks other work would have ended already.
    expect(existsSync(file)).toBe(false);
    await until(isOnDisk('running'));
    expect(openHostStore(folder, log).machinesOf({ name: 'rack-1', uri })).toEqual(opened.known.stored());
    opened.store.close();
    expect([readdirSync(folder), logged]).toEqual([['hosts.json'], []]);
  });

  it('stores the number of CPUs and the memory, so that a list shows them after a restart', () => {
    const { store, known } = openStore(1);
    const processors = { count: 4, sockets: 2, coresPerSocket: 2, threadsPerCore: 1, model: null };
    known.remember({ uuid: uuidOf(0), name: 'machine-0', state: 'running', processors, memoryKiB: 1_048_576 });
    store.close();
    const stored = openHostStore(folder, log).machinesOf({ name: 'rack-1', uri });
    const silence = { since: new Date(), reason: null };
    expect(new KnownMachines('rack-1', stored).last(uuidOf(0), silence)).toMatchObject({
      processors,
      memoryKiB: 1_048_576,
    });
    expect(logged).toEqual([]);
  });

  it('writes a change that happens during a write', async () => {
    const opened = openStore(2_000);
    change(opened, 'started');
    change(opened, 'stopped');
    await until(() => {
      jest.advanceTimersByTime(5_000);
      return isOnDisk('"state":"shutoff"')();
    });
    expect(stateOnDisk()).toBe('shutoff');
  });

  it('stores the states at the close, even if an older write still runs', async () => {
    const opened = openStore(2_000);
    change(opened, 'started');
    opened.known.note({ kind: 'stopped', uuid: uuidOf(0), name: 'machine-0' });
    opened.store.close();
    expect(stateOnDisk()).toBe('shutoff');
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
    expect(stateOnDisk()).toBe('shutoff');
    expect(logged).toEqual([]);
  });

  it('logs a failed write, and writes the next change', async () => {
    const opened = openStore(1);
    rmSync(folder, { recursive: true });
    writeFileSync(folder, 'a file in the place of the folder');
    change(opened, 'started');
    await until(() => logged.length > 0);
    expect(logged).toEqual(['storing the last known machines of the hosts failed']);
    rmSync(folder);
    change(opened, 'stopped');
    await until(isOnDisk('shutoff'));
    opened.store.close();
    expect(logged).toHaveLength(1);
  });
});
