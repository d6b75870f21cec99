/**
 * Translates power actions into hypervisor calls by the state of the machine. The libvirt driver and the fake driver
 * share this table, so that the fake driver behaves as libvirt does. The driver for Nova has its own plans.
 */
import { DriverError } from './driver-error.js';
import type { DomainState } from './snapshot/system-snapshot.js';

const actions = [
  'create',
  'destroy',
  'shutdown',
  'reboot',
  'reset',
  'injectNmi',
  'cycle',
  'pressButton',
  'suspend',
  'resume',
  'pmSuspend',
] as const;

/**
 * Power actions, with libvirt's names where libvirt has them. `create` is power-on, `destroy` is power-off. `reboot` is
 * graceful and falls back to a hard restart. `reset` is hard. `cycle` is off and on. `pressButton` acts as the power
 * button: the guest decides, and a machine that is off starts. `suspend` and `resume` pause and continue the CPUs of
 * the machine. With `pmSuspend` the guest writes its memory to disk and powers off (ACPI S4).
 */
export type PowerAction = (typeof actions)[number];

/** All power actions. */
export const everyAction: ReadonlySet<PowerAction> = new Set(actions);

/** One hypervisor call, with libvirt's name. */
export type PowerStep =
  /** Removes the saved state of a machine that is off. Does nothing if there is none. */
  | 'managedSaveRemove'
  | 'create'
  | 'destroy'
  | 'resume'
  | 'shutdown'
  | 'reboot'
  | 'reset'
  | 'injectNmi'
  | 'suspend'
  | 'pmSuspend'
  | 'pmWakeup';

/** Power off and on. Restarts the guest also in states in which a reset does not boot it. */
const cycle: readonly PowerStep[] = ['destroy', 'create'];
/** A restart must boot. A saved machine would continue instead. */
const freshBoot: readonly PowerStep[] = ['managedSaveRemove', 'create'];
const nothing: readonly PowerStep[] = [];
const rejected = 'rejected';
type Row = Readonly<Record<PowerAction, readonly PowerStep[] | typeof rejected>>;

/**
 * The calls for a running machine. They also apply to `nostate`: the hypervisor does not know the
 * state, but lists the machine as active.
 */
const running: Row = {
  create: nothing,
  destroy: ['destroy'],
  shutdown: ['shutdown'],
  reboot: ['reboot'],
  reset: ['reset'],
  injectNmi: ['injectNmi'],
  cycle,
  pressButton: ['shutdown'],
  suspend: ['suspend'],
  resume: nothing,
  pmSuspend: ['pmSuspend'],
};

/** No guest runs, so none can be paused, resumed or suspended. */
const noGuest = { suspend: rejected, resume: rejected, pmSuspend: rejected } as const;

const table: Readonly<Record<DomainState, Row>> = {
  nostate: running,
  running,
  blocked: running,
  // A paused guest does not see the ACPI button, and libvirt's reset leaves it paused.
  paused: {
    ...running,
    create: ['resume'],
    shutdown: rejected,
    reboot: rejected,
    reset: cycle,
    pressButton: rejected,
    suspend: nothing,
    resume: ['resume'],
    pmSuspend: rejected,
  },
  // The guest has ended and QEMU is about to exit. A create would fail with "domain is already
  // active".
  shutdown: {
    ...running,
    ...noGuest,
    create: cycle,
    shutdown: nothing,
    reboot: cycle,
    reset: cycle,
    injectNmi: rejected,
    pressButton: nothing,
  },
  shutoff: {
    create: ['create'],
    destroy: nothing,
    shutdown: rejected,
    reboot: rejected,
    // DMTF's use-case checker expects that ForceRestart switches on a machine that is off.
    reset: freshBoot,
    injectNmi: rejected,
    cycle: freshBoot,
    pressButton: ['create'],
    ...noGuest,
  },
  // `<on_crash>preserve` keeps the process, so that the user can inspect its memory. So `On` does
  // nothing.
  crashed: {
    ...running,
    ...noGuest,
    shutdown: rejected,
    reboot: rejected,
    reset: cycle,
    injectNmi: rejected,
    pressButton: rejected,
  },
  // On and the power button wake the machine, as on a server.
  pmsuspended: {
    ...running,
    create: ['pmWakeup'],
    shutdown: rejected,
    reboot: rejected,
    reset: cycle,
    pressButton: ['pmWakeup'],
    suspend: rejected,
    resume: ['pmWakeup'],
    pmSuspend: rejected,
  },
};

/** Calls that end the process of the machine, at once or through its guest. */
const ends: ReadonlySet<PowerStep> = new Set(['destroy', 'shutdown', 'pmSuspend']);

/**
 * Returns the calls of a power action in order; none if the action does nothing in this state.
 * @throws {DriverError} conflict, if the state does not allow the action (a graceful action needs a
 *   running guest); transient, if the machine would be lost with its process.
 */
export function planPower(
  action: PowerAction,
  { state, persistent = true }: { readonly state: DomainState; readonly persistent?: boolean },
): readonly PowerStep[] {
  const steps = table[state][action];
  if (steps === rejected)
    throw new DriverError('conflict', `${actionName[action]} on a machine that is ${stateName[state]}`);
  if (!persistent && steps.some((step) => ends.has(step))) throw transientError(actionName[action]);
  return steps;
}

/**
 * Returns the error of an action after which a transient machine would no longer exist.
 * @param doing the name of the action.
 */
export function transientError(doing: string): DriverError {
  const advice = 'it has no definition that could be started again; give it one with virsh define';
  return new DriverError('transient', `${doing} of a transient machine, which would be lost: ${advice}`);
}

const actionName: Readonly<Record<PowerAction, string>> = {
  create: 'power-on',
  destroy: 'power-off',
  shutdown: 'graceful shutdown',
  reboot: 'graceful restart',
  reset: 'restart',
  injectNmi: 'non-maskable interrupt',
  cycle: 'power cycle',
  pressButton: 'power button',
  suspend: 'pause',
  resume: 'resume',
  pmSuspend: 'suspend',
};

const stateName: Readonly<Record<DomainState, string>> = {
  nostate: 'in no known state',
  running: 'running',
  blocked: 'running',
  paused: 'paused',
  shutdown: 'shutting down',
  shutoff: 'off',
  crashed: 'crashed',
  pmsuspended: 'suspended',
};
