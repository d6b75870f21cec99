/**
 * What a reset type comes to on a machine in a given state: one table for every driver, so that the fake one teaches client
 * developers the same rules as libvirt does.
 */
import { DriverError, type DomainState, type PowerAction } from './driver.js';

/** One call to the hypervisor, in libvirt's words. */
export type PowerStep =
  /** Throws away the state that a machine which is off would go on from; nothing where it has none. */
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

/** Destroy and start anew: the only way out of a state in which a reset would leave the guest where it is. */
const cycle: readonly PowerStep[] = ['destroy', 'create'];
/** A restart is a boot: a machine that was saved would only go on where it was. */
const freshBoot: readonly PowerStep[] = ['managedSaveRemove', 'create'];
const nothing: readonly PowerStep[] = [];
const refuse = 'refuse';
type Row = Readonly<Record<PowerAction, readonly PowerStep[] | typeof refuse>>;

/** `nostate` is what a hypervisor says that cannot tell: taken as running, since it lists the machine as active. */
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

/** There is no guest that could sleep or be held. */
const noGuest = { suspend: refuse, resume: refuse, pmSuspend: refuse } as const;

const table: Readonly<Record<DomainState, Row>> = {
  nostate: running,
  running,
  blocked: running,
  // A paused guest cannot see the ACPI button, and libvirt's reset leaves it paused: it would never come up.
  paused: {
    ...running,
    create: ['resume'],
    shutdown: refuse,
    reboot: refuse,
    reset: cycle,
    pressButton: refuse,
    suspend: nothing,
    resume: ['resume'],
    pmSuspend: refuse,
  },
  // The guest has finished and QEMU is about to go: "domain is already active" is all that a create would earn.
  shutdown: {
    ...running,
    ...noGuest,
    create: cycle,
    shutdown: nothing,
    reboot: cycle,
    reset: cycle,
    injectNmi: refuse,
    pressButton: nothing,
  },
  shutoff: {
    create: ['create'],
    destroy: nothing,
    shutdown: refuse,
    reboot: refuse,
    // DMTF's use-case checker: ForceRestart from Off ends On.
    reset: freshBoot,
    injectNmi: refuse,
    cycle: freshBoot,
    pressButton: ['create'],
    ...noGuest,
  },
  // Kept by `<on_crash>preserve`: On does nothing, for whoever asked for it wants to look at the memory.
  crashed: {
    ...running,
    ...noGuest,
    shutdown: refuse,
    reboot: refuse,
    reset: cycle,
    injectNmi: refuse,
    pressButton: refuse,
  },
  // Whoever wants it on, or presses its button, wakes it, as a server's.
  pmsuspended: {
    ...running,
    create: ['pmWakeup'],
    shutdown: refuse,
    reboot: refuse,
    reset: cycle,
    pressButton: ['pmWakeup'],
    suspend: refuse,
    resume: ['pmWakeup'],
    pmSuspend: refuse,
  },
};

/** What ends the machine's process, at once or when the guest obeys. */
const ends: ReadonlySet<PowerStep> = new Set(['destroy', 'shutdown', 'pmSuspend']);

/**
 * The steps that carry out a power action, in order; none where the machine is already there.
 * @throws {DriverError} conflict where the state does not allow it: a graceful action needs a guest that runs. transient where
 * the machine would be gone with its process.
 */
export function planPower(
  action: PowerAction,
  { state, persistent = true }: { readonly state: DomainState; readonly persistent?: boolean },
): readonly PowerStep[] {
  const steps = table[state][action];
  if (steps === refuse) throw new DriverError('conflict', `${gerund[action]} on a machine that is ${adjective[state]}`);
  if (!persistent && steps.some((step) => ends.has(step))) throw transientError(gerund[action]);
  return steps;
}

/** Of a machine that exists only as long as it runs. @param doing what would end it. */
export function transientError(doing: string): DriverError {
  const advice = 'it has no definition that could be started again; give it one with virsh define';
  return new DriverError('transient', `${doing} of a transient machine, which would be lost: ${advice}`);
}

const gerund: Readonly<Record<PowerAction, string>> = {
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

const adjective: Readonly<Record<DomainState, string>> = {
  nostate: 'in no known state',
  running: 'running',
  blocked: 'running',
  paused: 'paused',
  shutdown: 'shutting down',
  shutoff: 'off',
  crashed: 'crashed',
  pmsuspended: 'suspended',
};
