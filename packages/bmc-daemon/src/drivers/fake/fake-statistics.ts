/** Simulated counters. They grow like the counters of a machine under load. */
import { setImmediate } from 'node:timers/promises';
import type { CompleteSnapshot } from '../snapshot/system-snapshot.js';
import type { MachineChange } from '../machine-change.js';
import type { MachineStatistics, AllStatistics } from '../statistics-control.js';

/** One run of a machine, from its start to its stop. */
interface Run {
  readonly id: string;
  /** Run time up to the last pause, without the time of earlier pauses; 0 before the first pause. */
  readonly ranMs: number;
  /** Time of the start or the last resume; undefined while the machine is paused. */
  readonly since: number | undefined;
}

interface FakeStatisticsOptions {
  readonly machines: () => Iterable<CompleteSnapshot>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Statistics of fake machines, computed from their run time. */
export class FakeStatistics implements AllStatistics {
  readonly #machines: () => Iterable<CompleteSnapshot>;
  readonly #now: () => number;
  readonly #runs = new Map<string, Run>();
  /** Start time of all runs whose start was not reported, such as those of machines that were on from the beginning. */
  readonly #createdAt: number;
  #count = 0;

  constructor({ machines, now }: FakeStatisticsOptions) {
    this.#machines = machines;
    this.#now = now;
    this.#createdAt = now();
  }

  /** Updates the run of a machine after a change of its state. */
  follow({ kind, uuid }: MachineChange): void {
    const run = this.#runs.get(uuid);
    if (kind === 'started') this.#begin(uuid, this.#now());
    else if (kind === 'stopped' || kind === 'crashed' || kind === 'undefined') this.#runs.delete(uuid);
    else if (kind === 'paused' || kind === 'suspended') {
      const begun = run ?? this.#begin(uuid, this.#createdAt);
      this.#runs.set(uuid, { id: begun.id, ranMs: ranMs(begun, this.#now()), since: undefined });
    } else if (kind === 'resumed' && run !== undefined) this.#runs.set(uuid, { ...run, since: this.#now() });
  }

  async all(): Promise<readonly MachineStatistics[]> {
    await setImmediate();
    return [...this.#machines()]
      .filter(({ state }) => state !== 'shutoff' && state !== 'crashed')
      .map((machine) => {
        const run = this.#runs.get(machine.uuid) ?? this.#begin(machine.uuid, this.#createdAt);
        return statisticsOf(machine, run.id, ranMs(run, this.#now()) / 1000, new Date(this.#now()));
      });
  }

  #begin(uuid: string, since: number): Run {
    this.#count += 1;
    const run = { id: String(this.#count), ranMs: 0, since };
    this.#runs.set(uuid, run);
    return run;
  }
}

function ranMs(run: Run, now: number): number {
  return run.ranMs + (run.since === undefined ? 0 : now - run.since);
}

/** Returns the counters of a machine that has run for this many seconds. */
function statisticsOf(machine: CompleteSnapshot, run: string, seconds: number, now: Date): MachineStatistics {
  const { uuid, processors, memoryKiB, disks, interfaces } = machine;
  // The load depends on the machine only, so it is the same after a restart of the daemon.
  const seed = Number.parseInt(uuid.slice(-6), 16) % 97;
  const counter = (perSecond: number, share: number): number => oscillating(perSecond * share, seconds, seed + share);
  const load = (0.05 + (seed % 9) / 20) * processors.count;
  const vcpuNs = counter(load * 1e9, 1);
  const guestKiB = Math.floor(memoryKiB * 0.97);
  return {
    uuid,
    run,
    processors: { timeNs: Math.floor(vcpuNs * 1.05), vcpus: { timeNs: vcpuNs, count: processors.count } },
    memory: {
      currentKiB: memoryKiB,
      // The host allocates pages when the guest uses them, so the resident memory grows after the start.
      residentKiB: Math.floor(memoryKiB * 0.8 * (1 - Math.exp(-(seconds + 30) / 120))),
      guest: {
        availableKiB: guestKiB,
        usableKiB: Math.floor(guestKiB * (0.6 + 0.2 * Math.sin(seconds / 300 + seed))),
        at: now,
      },
    },
    disks: new Map(
      disks.map(({ target, device }, index) => {
        const share = device === 'disk' ? 1 / (index + 1) : 0;
        const [readBytes, writeBytes] = [counter(400_000, share), counter(900_000, share)];
        const requests = (bytes: number): number => Math.floor(bytes / 16_384);
        return [
          target,
          {
            readBytes: requests(readBytes) * 16_384,
            readRequests: requests(readBytes),
            readTimeNs: requests(readBytes) * 210_000,
            writeBytes: requests(writeBytes) * 16_384,
            writeRequests: requests(writeBytes),
            writeTimeNs: requests(writeBytes) * 640_000,
          },
        ];
      }),
    ),
    interfaces: new Map(
      interfaces.map(({ mac, linkUp }, index) => {
        const share = linkUp ? 1 / (index + 1) : 0;
        const [rxBytes, txBytes] = [counter(150_000, share), counter(60_000, share)];
        return [
          mac,
          {
            rxBytes,
            rxPackets: Math.floor(rxBytes / 900),
            rxErrors: 0,
            rxDrops: 0,
            txBytes,
            txPackets: Math.floor(txBytes / 400),
            txErrors: 0,
            txDrops: 0,
          },
        ];
      }),
    ),
  };
}

/** Period of the load in seconds. */
const PERIOD_S = 180;

/**
 * Returns a counter whose rate oscillates around its mean and stays positive, so that the counter
 * only grows.
 */
function oscillating(mean: number, seconds: number, phase: number): number {
  const speed = (2 * Math.PI) / PERIOD_S;
  const swing = (0.8 / speed) * (Math.cos(phase) - Math.cos(speed * seconds + phase));
  return Math.floor(mean * (seconds + swing));
}
