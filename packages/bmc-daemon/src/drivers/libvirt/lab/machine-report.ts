/** Results of a command, one for each machine. */
import type { CreatedVolume } from '../xml/metadata/created-record.js';
import type { KnownMachine } from './lab-host.js';

/** The result of a command for one machine. */
export type Outcome =
  | 'created'
  /** The machine exists, as requested. */
  | 'unchanged'
  /** The machine exists with other hardware, or is no clone of the requested source. It was not changed. */
  | 'differs'
  | 'deleted'
  /** There was no such machine to delete. */
  | 'absent'
  | 'failed';

/** The result for one machine. */
export interface MachineReport {
  readonly name: string;
  /** Null for an absent machine, and for a machine that could not be created. */
  readonly uuid: string | null;
  readonly outcome: Outcome;
  readonly macAddresses: readonly string[];
  readonly volumes: readonly CreatedVolume[];
  /** File on the host with the output of the serial port; null: none. */
  readonly serialLog: string | null;
  /** Differences, leftovers, or the reason of a failure: one sentence each. */
  readonly notes: readonly string[];
}

/** Receives the results in order, as soon as each is known. */
export type OnReport = (report: MachineReport) => void;

/** Returns the result for a machine that exists. */
export function reportOf(known: KnownMachine, outcome: Outcome, notes: readonly string[] = []): MachineReport {
  const { name, uuid, domain, created } = known;
  return {
    name,
    uuid,
    outcome,
    macAddresses: domain.devices.interfaces.map(({ mac }) => mac),
    volumes: created?.volumes ?? [],
    serialLog: created?.serialLog ?? null,
    notes,
  };
}
