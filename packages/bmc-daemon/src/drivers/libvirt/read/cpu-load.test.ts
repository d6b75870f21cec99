import { expect, it } from '@jest/globals';
import { CpuLoad } from './cpu-load.js';

/**
 * Returns a host with the counters of two CPUs. `run` advances the clock and the counters; `reset` sets the counters to
 * 0, as a restart of the host does; `read` also counts the reads of counters.
 */
function cpus() {
  let now = 1_000_000;
  let busySeconds = 100;
  let idleSeconds = 300;
  let reads = 0;
  const load = new CpuLoad(() => now);
  return {
    run(seconds: number, busyShare: number): void {
      now += seconds * 1000;
      busySeconds += 2 * seconds * busyShare;
      idleSeconds += 2 * seconds * (1 - busyShare);
    },
    reset(): void {
      [busySeconds, idleSeconds] = [0, 0];
    },
    read: async (onRead: () => void = () => undefined) => {
      reads = 0;
      const use = await load.read(() => {
        reads += 1;
        onRead();
        return Promise.resolve({ busySeconds, idleSeconds });
      });
      return { ...use, reads };
    },
  };
}

it('CpuLoad reads twice at first, and then computes the load since the previous reading', async () => {
  const host = cpus();
  const first = await host.read(() => host.run(1, 0.5));
  expect([first.load, first.reads]).toEqual([0.5, 2]);
  host.run(30, 0.25);
  const next = await host.read();
  expect([next.load, next.reads]).toEqual([0.25, 1]);
  expect(next.time).toEqual({ busySeconds: 117, idleSeconds: 347 });
});

it('CpuLoad returns the last load again if the previous reading was a moment ago', async () => {
  const host = cpus();
  await host.read(() => host.run(1, 0.5));
  host.run(0.01, 1);
  expect((await host.read()).load).toBe(0.5);
  host.run(0.99, 1);
  expect((await host.read()).load).toBe(1);
});

it('CpuLoad reads twice again after a long time, so that the load is current', async () => {
  const host = cpus();
  await host.read(() => host.run(1, 0.5));
  host.run(3_600, 0);
  const { load, reads } = await host.read(() => host.run(1, 1));
  expect([load, reads]).toEqual([1, 2]);
});

it('CpuLoad returns null as the load across a restart of the host', async () => {
  const host = cpus();
  await host.read(() => host.run(1, 0.5));
  host.run(10, 0.5);
  host.reset();
  expect((await host.read()).load).toBeNull();
  host.run(10, 0.5);
  expect((await host.read()).load).toBe(0.5);
});
