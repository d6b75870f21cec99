import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DriverError } from '../drivers/driver-error.js';
import type { SystemRef } from '../drivers/snapshot/system-snapshot.js';
import type { MachineStatistics, StatisticsControl } from '../drivers/statistics-control.js';
import { openReportDefinitions, type TelemetryState } from './report-definitions.js';
import { definitionUri, type ReportMessage } from '../offers/report-source.js';
import type { Report } from './report.js';
import { ReportSchedule } from './report-schedule.js';
import { Samplers } from './sampler.js';

const web: SystemRef = { uuid: '00000000-0000-4000-8000-000000000001', name: 'web' };
const db: SystemRef = { uuid: '00000000-0000-4000-8000-000000000002', name: 'db' };

let machines: readonly SystemRef[];
/** UUIDs of the running machines. */
let running: Set<string>;
/** Number of samples that the service requested from the host. */
let samples: number;
/**
 * How the host answers the next samples: `up`: at once; `down`: with an error; `slow`: when the test
 * calls `answerSlow`.
 */
let hostState: 'up' | 'down' | 'slow';
let answerSlow: () => void;
let health: unknown[];
let definitions: ReturnType<typeof openReportDefinitions>;
let schedule: ReportSchedule;

const clock = () => performance.now();
const statistics = (uuid: string): MachineStatistics => ({
  uuid,
  run: '1',
  processors: { timeNs: 1, vcpus: { timeNs: clock() * 0.5e6, count: 1 } },
  memory: {},
  disks: new Map(),
  interfaces: new Map(),
});
const open = (control: StatisticsControl): ReportSchedule =>
  new ReportSchedule({
    driver: { listSystems: () => Promise.resolve(machines) },
    definitions,
    samplers: new Samplers({ statistics: control, now: () => new Date(), clock, minAgeMs: 900 }),
    clock,
    waitMs: 4_000,
    onHealth: (failure) => health.push(failure),
  });

beforeEach(() => {
  jest.useFakeTimers();
  machines = [web, db];
  running = new Set([web.uuid, db.uuid]);
  [samples, hostState, health] = [0, 'up', []];
  let state: TelemetryState = { enabled: true, definitions: {} };
  definitions = openReportDefinitions({
    path: 'memory',
    get state() {
      return state;
    },
    update: (change) => void (state = change(state)),
  });
  const all = async (): Promise<readonly MachineStatistics[]> => {
    samples += 1;
    if (hostState === 'down') throw new DriverError('unavailable', 'it is down');
    if (hostState === 'slow') await new Promise<void>((resolve) => (answerSlow = resolve));
    return [...running].map(statistics);
  };
  schedule = open({ all });
});
afterEach(() => {
  schedule.close();
  jest.useRealTimers();
});

const advanceSeconds = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1000);
const utilization = ({ values }: Report) => values.find(({ metricId }) => metricId === 'CPUUtilization')?.value;
const ageSeconds = ({ measurement }: Report) => (clock() - (measurement?.clockMs ?? Number.NaN)) / 1000;
const subscribe = (wants: (definition: string | null) => boolean) => {
  const got: ReportMessage[] = [];
  const leave = schedule.subscribe({ wants, deliver: (message) => got.push(message) });
  return { got, leave };
};

describe('reports that are read', () => {
  it('are current for the first reader, have rates a second later, and are then at most a minute old', async () => {
    await advanceSeconds(7);
    const first = await schedule.read(web);
    expect([ageSeconds(first), utilization(first)]).toEqual([0, undefined]);
    await advanceSeconds(1.5);
    const second = await schedule.read(web);
    expect(second).not.toBe(first);
    expect(utilization(second)).toBe(50);
    for (let minute = 0; minute < 4; minute += 1) {
      await advanceSeconds(59);
      expect(ageSeconds(await schedule.read(web))).toBeLessThanOrEqual(60);
    }
    expect(samples).toBe(6);
    expect(await schedule.read(web)).toBe(await schedule.read(web));
  });

  it('cause no samples before the first read or long after the last one; the next read is current', async () => {
    await advanceSeconds(600);
    expect(samples).toBe(0);
    await schedule.read(web);
    await advanceSeconds(3_600);
    const taken = samples;
    expect(taken).toBeLessThan(9);
    await advanceSeconds(3_600);
    expect(samples).toBe(taken);
    const next = await schedule.read(web);
    // The last measurement is more than an hour old, which is too old for a rate.
    expect([ageSeconds(next), utilization(next)]).toEqual([0, undefined]);
  });

  it('share samples: the first reader of another machine gets rates from an earlier sample', async () => {
    await schedule.read(web);
    await advanceSeconds(10);
    const other = await schedule.read(db);
    expect([samples, utilization(other)]).toEqual([2, 50]);
    await advanceSeconds(60);
    const [one, two] = [await schedule.read(web), await schedule.read(db)];
    expect([samples, one.measurement?.clockMs]).toEqual([3, two.measurement?.clockMs]);
  });

  it('are at most as old as their interval, also after a shared sample', async () => {
    definitions.change(web.uuid, { intervalSeconds: 600 });
    await advanceSeconds(7);
    await schedule.read(web);
    await advanceSeconds(56);
    expect(ageSeconds(await schedule.read(db))).toBe(55);
    for (let second = 0; second < 120; second += 1) {
      await advanceSeconds(1);
      expect(ageSeconds(await schedule.read(db))).toBeLessThanOrEqual(60);
    }
  });

  it('are renewed at each read, at most once a second, with rates since the previous report, if the type is onRequest', async () => {
    definitions.change(web.uuid, { type: 'onRequest' });
    const first = await schedule.read(web);
    await advanceSeconds(0.5);
    expect(await schedule.read(web)).toBe(first);
    await advanceSeconds(9.5);
    const second = await schedule.read(web);
    expect([ageSeconds(second), utilization(second), samples]).toEqual([0, 50, 2]);
    await advanceSeconds(300);
    expect(samples).toBe(2);
    // The previous report is now 700 s old, and a rate covers at most ten minutes. So the next report has no rates.
    await advanceSeconds(400);
    expect(utilization(await schedule.read(web))).toBeUndefined();
  });

  it('have the current name of their machine', async () => {
    const { measurement } = await schedule.read(web);
    const renamed = await schedule.read({ ...web, name: 'www' });
    expect([renamed.machine.name, renamed.measurement]).toEqual(['www', measurement]);
    expect(await schedule.read({ ...web, name: 'www' })).toBe(renamed);
  });

  it('are the stored ones while the host is down; without a stored report, the read fails', async () => {
    const last = await schedule.read(web);
    hostState = 'down';
    await advanceSeconds(90);
    expect(await schedule.read(web)).toBe(last);
    expect(schedule.storedReport(web.uuid)).toBe(last);
    await expect(schedule.read(db)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(health).toContainEqual(expect.any(DriverError));
    hostState = 'up';
    await advanceSeconds(6);
    expect(ageSeconds(await schedule.read(web))).toBeLessThan(60);
    expect(health.at(-1)).toBeNull();
  });

  it('cause an error for all readers after a time limit if the host is slow, and the host gets only one request', async () => {
    hostState = 'slow';
    const readers = [schedule.read(web), schedule.read(db), schedule.read(web)];
    const outcomes = Promise.allSettled(readers);
    await advanceSeconds(4.1);
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await advanceSeconds(60);
    expect(samples).toBe(1);
    hostState = 'up';
    answerSlow();
    await advanceSeconds(0.1);
    expect(utilization(await schedule.read(web))).toBeUndefined();
  });

  it('do not change while they are disabled', async () => {
    const last = await schedule.read(web);
    definitions.change(web.uuid, { enabled: false });
    await advanceSeconds(300);
    expect([await schedule.read(web), samples]).toEqual([last, 1]);
    definitions.setEnabled(false);
    expect(await schedule.read(db)).toEqual({ machine: db, measurement: null, values: [] });
    expect(samples).toBe(1);
  });
});

describe('reports of a hypervisor that needs a request for each machine', () => {
  let asked: string[];
  let failing: string;
  beforeEach(() => {
    [asked, failing] = [[], ''];
    schedule.close();
    const read = async (uuid: string): Promise<MachineStatistics | null> => {
      asked.push(uuid);
      if (uuid === failing) throw new DriverError('unavailable', 'its host is down');
      const found = await Promise.resolve(running.has(uuid));
      return found ? statistics(uuid) : null;
    };
    schedule = open({ of: read });
  });

  it('cause requests only for machines that a client reads or subscribes to', async () => {
    await advanceSeconds(600);
    expect(asked).toEqual([]);
    await schedule.read(web);
    await advanceSeconds(60);
    expect(new Set(asked)).toEqual(new Set([web.uuid]));
    const { got, leave } = subscribe((uri) => uri === definitionUri(db.uuid));
    await advanceSeconds(61);
    expect([got.length > 1, new Set(asked)]).toEqual([true, new Set([web.uuid, db.uuid])]);
    leave();
    await advanceSeconds(600);
    const count = asked.length;
    await advanceSeconds(3600);
    expect(asked).toHaveLength(count);
  });

  it('have rates only after two samples of their own machine', async () => {
    await schedule.read(web);
    await advanceSeconds(30);
    expect(utilization(await schedule.read(db))).toBeUndefined();
    await advanceSeconds(30);
    expect([utilization(await schedule.read(web)), utilization(await schedule.read(db))]).toEqual([50, 50]);
  });

  it('are made although the request for another machine fails; the service repeats this request later', async () => {
    failing = web.uuid;
    const { got } = subscribe(() => true);
    await advanceSeconds(0.1);
    expect(got.map(({ key }) => key)).toEqual([db.uuid]);
    expect(health.at(-1)).toBeInstanceOf(DriverError);
    failing = '';
    await advanceSeconds(6);
    expect(got.map(({ key }) => key)).toContain(web.uuid);
    expect(health.at(-1)).toBeNull();
  });

  it('are made although another machine is removed at the same time', async () => {
    const removed = new DriverError('notFound', 'there is none');
    schedule.close();
    schedule = open({
      of: (uuid) => (uuid === web.uuid ? Promise.reject(removed) : Promise.resolve(statistics(uuid))),
    });
    const { got } = subscribe(() => true);
    await advanceSeconds(0.1);
    expect(got.map(({ body }) => (body['MetricValues'] as unknown[]).length)).toEqual([0, 1]);
    expect(health).toEqual([null]);
  });

  it('cause at most four requests to the hypervisor at the same time', async () => {
    machines = Array.from({ length: 50 }, (_, index) => ({ uuid: `machine-${index}`, name: `machine-${index}` }));
    running = new Set(machines.map(({ uuid }) => uuid));
    let [now, most] = [0, 0];
    schedule.close();
    schedule = open({
      of: async (uuid) => {
        most = Math.max(most, (now += 1));
        await new Promise((resolve) => void setTimeout(resolve, 10));
        now -= 1;
        return statistics(uuid);
      },
    });
    const { got } = subscribe(() => true);
    await advanceSeconds(1);
    expect([new Set(got.map(({ key }) => key)).size, most]).toEqual([50, 4]);
  });
});

describe('reports that are sent', () => {
  it('arrive at once, a second later with rates, and then at the interval of their definition', async () => {
    definitions.change(db.uuid, { intervalSeconds: 10 });
    const { got, leave } = subscribe((uri) => uri === definitionUri(db.uuid));
    await advanceSeconds(0);
    expect(got.map(({ key }) => key)).toEqual([db.uuid]);
    await advanceSeconds(1.1);
    expect(got).toHaveLength(2);
    expect(JSON.stringify(got[1]?.body)).toContain('"MetricId":"CPUUtilization","MetricValue":"50"');
    await advanceSeconds(40);
    expect(got).toHaveLength(6);
    leave();
    await advanceSeconds(120);
    expect([got.length, samples]).toEqual([6, 6]);
  });

  it('reach a later subscriber at once, as the latest report of each machine', async () => {
    const first = subscribe(() => true);
    await advanceSeconds(5);
    const second = subscribe(() => true);
    expect(second.got.map(({ key }) => key)).toEqual([web.uuid, db.uuid]);
    expect(second.got.map(({ body }) => body)).toEqual(first.got.slice(2).map(({ body }) => body));
  });

  it('include no report of the type onRequest, and no second empty report in a row', async () => {
    definitions.change(web.uuid, { type: 'onRequest' });
    running = new Set();
    const { got } = subscribe(() => true);
    await advanceSeconds(200);
    await schedule.read(web);
    expect(got.map(({ key }) => key)).toEqual([db.uuid]);
    running = new Set([db.uuid]);
    await advanceSeconds(60);
    running = new Set();
    await advanceSeconds(120);
    expect(got.map(({ body }) => (body['MetricValues'] as unknown[]).length)).toEqual([0, 1, 2, 0]);
  });

  it('contain only measurements after the start of their machine, and rates a second later, despite other samples', async () => {
    definitions.change(web.uuid, { intervalSeconds: 1 });
    [machines, running] = [[web], new Set([web.uuid])];
    const { got } = subscribe((uri) => uri === definitionUri(db.uuid));
    const watching = subscribe((uri) => uri === definitionUri(web.uuid));
    const valueCounts = () => got.map(({ body }) => (body['MetricValues'] as unknown[]).length);
    await advanceSeconds(20.3);
    machines = [web, db];
    running.add(db.uuid);
    schedule.discardEarlier(db.uuid);
    await advanceSeconds(4);
    // The first report has only the counter, the second one has the counter and its rate.
    expect(valueCounts()).toEqual([1, 2]);
    watching.leave();
    running.delete(db.uuid);
    await advanceSeconds(60);
    expect(valueCounts()).toEqual([1, 2, 0]);
    await advanceSeconds(20);
    running.add(db.uuid);
    schedule.discardEarlier(db.uuid);
    await advanceSeconds(4);
    expect(valueCounts()).toEqual([1, 2, 0, 1, 2]);
  });

  it('do not include a machine that was removed without an event', async () => {
    const first = subscribe(() => true);
    await advanceSeconds(2);
    machines = [db];
    schedule.recompute();
    await advanceSeconds(0.1);
    expect(first.got.map(({ key }) => key)).toContain(web.uuid);
    expect(schedule.storedReport(web.uuid)).toBeUndefined();
    expect(subscribe(() => true).got.map(({ key }) => key)).toEqual([db.uuid]);
  });

  it('include new machines, exclude removed ones, and continue when the host answers again', async () => {
    machines = [web];
    const { got } = subscribe(() => true);
    await advanceSeconds(2);
    machines = [db];
    schedule.forget(web.uuid);
    schedule.recompute();
    await advanceSeconds(2);
    expect(got.slice(2).map(({ key }) => key)).toEqual([db.uuid, db.uuid].slice(0, got.length - 2));
    hostState = 'down';
    await advanceSeconds(120);
    const sent = got.length;
    hostState = 'up';
    await advanceSeconds(10);
    expect(got.length).toBeGreaterThan(sent);
    expect(got.at(-1)?.key).toBe(db.uuid);
  });
});
