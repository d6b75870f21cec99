import { beforeEach, describe, expect, it } from '@jest/globals';
import type { MachineChange } from '../machine-change.js';
import { FakeDriver } from './fake-driver.js';
import type { MachinePlan, PlannedFailure } from './fake-plan.js';
import type { FakeClock } from './fake-timetable.js';
import { sampleMachines } from './sample-machines.js';

/** A clock that moves only with `pass`. `waiting` has the milliseconds until each planned call. */
class ManualClock implements FakeClock {
  #time = 0;
  #calls: { readonly at: number; readonly call: () => void }[] = [];

  now(): number {
    return this.#time;
  }

  later(ms: number, call: () => void): () => void {
    const entry = { at: this.#time + ms, call };
    this.#calls.push(entry);
    return () => void (this.#calls = this.#calls.filter((other) => other !== entry));
  }

  get waiting(): readonly number[] {
    return this.#calls.map(({ at }) => at - this.#time);
  }

  pass(ms: number): void {
    this.#time += ms;
    const due = this.#calls.filter(({ at }) => at <= this.#time);
    this.#calls = this.#calls.filter(({ at }) => at > this.#time);
    for (const { call } of due) call();
  }
}

/** Returns a failure of each power-on of each machine, at any time. The given members replace these defaults. */
const failure = (given: Partial<PlannedFailure> & Pick<PlannedFailure, 'effect'>): PlannedFailure => ({
  place: 'failures[0]',
  operation: 'power_on',
  afterMs: 0,
  forMs: Infinity,
  calls: undefined,
  every: 1,
  share: 1,
  machineShare: 1,
  lasts: Infinity,
  ...given,
});

const machines = sampleMachines(40);
const { uuid, name } = machines[0] ?? { uuid: '', name: '' };
let clock: ManualClock;

beforeEach(() => {
  clock = new ManualClock();
});

async function startWith(plan: Partial<MachinePlan>, seed = 0): Promise<FakeDriver> {
  const complete = { delays: {}, failures: [], ...plan };
  const list = complete.failures.filter(({ operation }) => operation === 'list');
  const driver = new FakeDriver({
    machines,
    clock,
    plan: { seed, list, machines: new Map(machines.map((machine) => [machine.uuid, complete])) },
  });
  await driver.start();
  return driver;
}

/** Waits until the driver waits for the clock. */
async function untilWaiting(): Promise<void> {
  while (clock.waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
}

/** Returns `done`, or the kind of the error. */
const outcome = (operation: Promise<unknown>): Promise<unknown> =>
  operation.then(
    () => 'done',
    (error: unknown) => (error as { readonly kind?: string }).kind ?? error,
  );

/** Powers a machine on and off several times. Returns the outcome of each power-on. */
async function powerCycles(driver: FakeDriver, count: number, id = uuid): Promise<readonly unknown[]> {
  const outcomes: unknown[] = [];
  for (let cycle = 0; cycle < count; cycle += 1) {
    outcomes.push(await outcome(driver.power(id, 'create')));
    await driver.power(id, 'destroy');
  }
  return outcomes;
}

describe('a delay', () => {
  it('makes a power-on take the planned time', async () => {
    const driver = await startWith({ delays: { power_on: 30_000 } });
    const starting = outcome(driver.power(uuid, 'create'));
    await untilWaiting();
    clock.pass(29_999);
    expect((await driver.getSystem(uuid)).state).toBe('shutoff');
    clock.pass(1);
    expect(await starting).toBe('done');
    expect((await driver.getSystem(uuid)).state).toBe('running');
  });

  it('ends when the machine is switched off during a power-on, which then fails', async () => {
    const driver = await startWith({ delays: { power_on: 30_000 } });
    const starting = outcome(driver.power(uuid, 'create'));
    await untilWaiting();
    await driver.power(uuid, 'destroy');
    expect(await starting).toBe('conflict');
    expect(clock.waiting).toEqual([]);
    expect((await driver.getSystem(uuid)).state).toBe('shutoff');
  });

  it('passes between the request for a shutdown and the power-off, and ends early if the run ends', async () => {
    const driver = await startWith({ delays: { shutdown: 10_000 } });
    await driver.power(uuid, 'create');
    await driver.power(uuid, 'shutdown');
    await driver.power(uuid, 'shutdown');
    expect((await driver.getSystem(uuid)).state).toBe('running');
    clock.pass(10_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect((await driver.getSystem(uuid)).state).toBe('shutoff');
    await driver.power(uuid, 'create');
    await driver.power(uuid, 'shutdown');
    await driver.power(uuid, 'reset');
    expect(clock.waiting).toEqual([]);
  });

  it('depends on seed, machine and call if it has bounds, and not on other machines', async () => {
    const delayOf = async (driver: FakeDriver, id: string): Promise<number | undefined> => {
      void outcome(driver.power(id, 'create'));
      await untilWaiting();
      const [ms] = clock.waiting;
      await driver.power(id, 'destroy');
      return ms;
    };
    const delays = { power_on: [1_000, 2_000] } as const;
    const first = await startWith({ delays }, 7);
    const ms = [await delayOf(first, 'node-1'), await delayOf(first, 'node-3'), await delayOf(first, 'node-1')];
    expect(new Set(ms).size).toBe(3);
    expect(ms.every((one = 0) => one >= 1_000 && one < 2_000)).toBe(true);
    const second = await startWith({ delays }, 7);
    expect(await delayOf(second, 'node-3')).toBe(ms[1]);
    expect([await delayOf(second, 'node-1'), await delayOf(second, 'node-1')]).toEqual([ms[0], ms[2]]);
    expect(await delayOf(await startWith({ delays }, 8), 'node-3')).not.toBe(ms[1]);
  });

  it('ends when the driver closes, and its operation fails with unavailable', async () => {
    const driver = await startWith({ delays: { power_on: 30_000, read: 5_000 } });
    const running = [outcome(driver.power(uuid, 'create')), outcome(driver.getSystem(uuid))];
    await untilWaiting();
    while (clock.waiting.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await driver.close();
    expect(await Promise.all(running)).toEqual(['unavailable', 'unavailable']);
    expect(clock.waiting).toEqual([]);
  });
});

describe('a failure', () => {
  it('affects only the calls whose numbers it has', async () => {
    const driver = await startWith({ failures: [failure({ effect: 'error', calls: [2, 3] })] });
    expect(await powerCycles(driver, 4)).toEqual(['done', 'internal', 'internal', 'done']);
  });

  it('affects every third call', async () => {
    const driver = await startWith({ failures: [failure({ effect: 'error', every: 3 })] });
    const third = ['done', 'done', 'internal'];
    expect(await powerCycles(driver, 6)).toEqual([...third, ...third]);
  });

  it('affects a share of the calls, the same for the same seed, or all calls of a share of the machines', async () => {
    const failures = [failure({ effect: 'error', share: 0.3 })];
    const runs = [await startWith({ failures }, 1), await startWith({ failures }, 1), await startWith({ failures }, 2)];
    const [first, same, other] = await Promise.all(runs.map((driver) => powerCycles(driver, 60)));
    expect(same).toEqual(first);
    expect(other).not.toEqual(first);
    const failed = first?.filter((one) => one === 'internal').length ?? 0;
    expect(failed).toBeGreaterThan(6);
    expect(failed).toBeLessThan(36);

    const some = await startWith({ failures: [failure({ effect: 'error', machineShare: 0.5 })] });
    const off = machines.filter(({ state }) => state === 'shutoff');
    const byMachine = await Promise.all(off.map((machine) => powerCycles(some, 2, machine.uuid)));
    expect(byMachine.every(([one, two]) => one === two)).toBe(true);
    expect(new Set(byMachine.map(([one]) => one))).toEqual(new Set(['done', 'internal']));
  });

  it('begins after the planned time, and lasts for the planned time', async () => {
    const driver = await startWith({
      failures: [failure({ effect: 'unavailable', operation: 'any', afterMs: 60_000, forMs: 30_000 })],
    });
    const states = [await outcome(driver.getSystem(uuid))];
    clock.pass(60_000);
    states.push(await outcome(driver.getSystem(uuid)), await outcome(driver.power(uuid, 'create')));
    clock.pass(30_000);
    states.push(await outcome(driver.getSystem(uuid)));
    expect(states).toEqual(['done', 'unavailable', 'unavailable', 'done']);
  });

  it('during an insert reports that the image server is unreachable', async () => {
    const driver = await startWith({ failures: [failure({ effect: 'error', operation: 'insert' })] });
    const image = { url: new URL('http://192.0.2.1/a.iso'), writeProtected: true, verifyCertificate: false };
    expect(await outcome(driver.media.insert(uuid, 'cdrom', image))).toBe('mediaUnreachable');
    expect(await outcome(driver.change(uuid, { cd: { image } }))).toBe('mediaUnreachable');
  });

  it('makes a read hang until it fails, or makes a read slow', async () => {
    const driver = await startWith({
      failures: [
        failure({ effect: 'hang', operation: 'read', calls: [1], lasts: 60_000 }),
        failure({ effect: 'slow', operation: 'read', lasts: 2_000 }),
      ],
    });
    const hanging = outcome(driver.getSystem(uuid));
    await untilWaiting();
    clock.pass(60_000);
    expect(await hanging).toBe('unavailable');
    const slow = outcome(driver.getSystem(uuid));
    await untilWaiting();
    clock.pass(2_000);
    expect(await slow).toBe('done');
  });

  it('does not affect calls for one machine if it affects only the list', async () => {
    const driver = await startWith({ failures: [failure({ effect: 'unavailable', operation: 'list' })] });
    expect([await outcome(driver.listSystems()), await outcome(driver.getSystem(uuid))]).toEqual([
      'unavailable',
      'done',
    ]);
  });
});

describe('a machine that vanishes', () => {
  it('is removed and defined again at the planned times', async () => {
    const gone = failure({ effect: 'vanish', operation: undefined, afterMs: 5_000, lasts: 10_000, machineShare: 0.5 });
    const driver = await startWith({ failures: [gone] });
    const changes: MachineChange[] = [];
    driver.onChange((change) => changes.push(change));
    const before = await driver.listSystems();
    clock.pass(5_000);
    const during = await driver.listSystems();
    expect(during.length).toBeGreaterThan(0);
    expect(during.length).toBeLessThan(before.length);
    const missing = before.find(
      (machine) => !during.includes(machine) && !during.some((one) => one.uuid === machine.uuid),
    );
    expect(await outcome(driver.getSystem(missing?.uuid ?? ''))).toBe('notFound');
    clock.pass(10_000);
    const byUuid = (list: readonly { readonly uuid: string }[]) => list.map((machine) => machine.uuid).toSorted();
    expect(byUuid(await driver.listSystems())).toEqual(byUuid(before));
    expect(changes.map(({ kind }) => kind)).toEqual([
      ...Array.from({ length: before.length - during.length }, () => 'undefined'),
      ...Array.from({ length: before.length - during.length }, () => 'defined'),
    ]);
  });

  it('makes the planned call and all later calls fail with notFound', async () => {
    const driver = await startWith({ failures: [failure({ effect: 'vanish', calls: [2] })] });
    expect(await powerCycles(driver, 1)).toEqual(['done']);
    expect(await outcome(driver.power(name, 'create'))).toBe('notFound');
    expect(await outcome(driver.getSystem(name))).toBe('notFound');
  });
});
