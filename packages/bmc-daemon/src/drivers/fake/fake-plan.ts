/** Planned delays and failures of machines in memory. All times are in milliseconds. */

/** Operations of one machine that can take time or fail. */
export const machineOperations = [
  'power_on',
  'power_off',
  'shutdown',
  'reset',
  'insert',
  'eject',
  'change',
  'read',
] as const;

/** An operation of one machine. `shutdown`: a failure affects the request; a delay is the time of the guest. */
export type MachineOperation = (typeof machineOperations)[number];

/** The request that fails: one operation of a machine, each of its operations (`any`), or the list of machines. */
export type FailingOperation = MachineOperation | 'any' | 'list';

/** A duration, or the bounds of a random one. */
export type Duration = number | readonly [min: number, max: number];

/** Effects of a planned failure. `vanish` removes the machine for the time `lasts`. */
export const effects = ['error', 'unavailable', 'hang', 'slow', 'vanish'] as const;

/** A planned failure. It applies to the calls that meet all conditions below. */
export interface PlannedFailure {
  /** Path of the failure in its file: `machines[0].failures[1]`. Also a key of its random draws. */
  readonly place: string;
  readonly effect: (typeof effects)[number];
  /** Undefined for machines that vanish at `afterMs`, without a call. */
  readonly operation: FailingOperation | undefined;
  /** Time from the start of the driver. */
  readonly afterMs: number;
  /** How long calls can fail, from `afterMs` on. Infinity: until the driver closes. */
  readonly forMs: number;
  /** Numbers of the calls, from 1; undefined: every call. */
  readonly calls: readonly number[] | undefined;
  /** The failure applies to each call whose number is a multiple of this number; 1: to each call. */
  readonly every: number;
  /** Share of these calls that fail, from 0 to 1. */
  readonly share: number;
  /** Share of the machines that the failure affects, from 0 to 1. */
  readonly machineShare: number;
  /** How long an operation hangs or is slow, or a machine is away. Infinity: until the driver closes. */
  readonly lasts: Duration;
}

/** The delays and failures of one machine. Many machines share one plan. */
export interface MachinePlan {
  readonly delays: Readonly<Partial<Record<MachineOperation, Duration>>>;
  /** The first failure that applies to a call takes effect. */
  readonly failures: readonly PlannedFailure[];
}

/** The plans of all machines. */
export interface FakePlan {
  readonly seed: number;
  /** By UUID. A machine without a plan has no delays and no failures. */
  readonly machines: ReadonlyMap<string, MachinePlan>;
  /** Failures of the list of machines. */
  readonly list: readonly PlannedFailure[];
}
