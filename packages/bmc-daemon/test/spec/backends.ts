/** What the specification's suites run on. */
import type { BootDevice, HypervisorDriver } from '../../src/drivers/driver.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { sampleMachines } from '../../src/drivers/fake/sample-machines.js';

/** The machine that the tests work with. */
export interface BackendMachine {
  readonly uuid: string;
  readonly name: string;
  readonly mac: string;
  readonly diskBytes: number;
}

/** A host in its first state, for one test. */
export interface PreparedHost {
  /** Not started yet; the test starts and closes it. */
  readonly driver: HypervisorDriver;
  readonly machine: BackendMachine;
  /** Of every machine on the host, in no order. */
  readonly uuids: readonly string[];
  /** What the machine was last started from; undefined where it is off. */
  startedFrom(): Promise<BootDevice | undefined>;
  /** Removes what the test left on the host. */
  dispose(): Promise<void>;
}

export interface Backend {
  /** `a fake host`: stands in the titles of the suites. */
  readonly name: string;
  open(): Promise<void>;
  prepare(): Promise<PreparedHost>;
  close(): Promise<void>;
}

const fake: Backend = {
  name: 'a fake host',
  open: () => Promise.resolve(),
  close: () => Promise.resolve(),
  prepare: () => {
    const machines = sampleMachines(2);
    const [machine] = machines;
    const [nic] = machine?.interfaces ?? [];
    const capacity = machine?.disks[0]?.capacityBytes;
    if (machine === undefined || nic === undefined || typeof capacity !== 'number') {
      throw new Error('the first sample machine is expected to have a disk and an interface');
    }
    const driver = new FakeDriver({ machines });
    return Promise.resolve({
      driver,
      machine: { uuid: machine.uuid, name: machine.name, mac: nic.mac, diskBytes: capacity },
      uuids: machines.map(({ uuid }) => uuid),
      startedFrom: () => Promise.resolve(driver.bootedFrom(machine.uuid)),
      dispose: () => Promise.resolve(),
    });
  },
};

/** Every backend that the suites are declared for. */
export function backends(): readonly Backend[] {
  return [fake];
}
