/** Runs an action on several machines, a few at a time, and keeps the result of each machine. */
import { computed, effect, signal } from '@preact/signals';
import { holdWork } from '../../../../ui/frame/leaving.js';
import { messageOf } from '../../../../ui/states.js';
import { ejectImage, readDrives } from '../../../redfish/drives.js';
import { readMachineAgain, type Machine } from '../../../redfish/machines.js';
import { resetMachine, setBootOverride, type BootOverride } from '../../../redfish/operations.js';
import { isUsable } from '../../../redfish/session.js';
import { compareNames } from '../../../../ui/table/columns.js';
import { bulkTexts } from '../../../../texts/index.js';
import type { BulkAction, Plan } from './plan.js';

/** The result of one machine. */
export interface Outcome {
  readonly machine: Machine;
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'skipped' | 'stopped';
  /** The reason of a failure or a skip, or a hint after a request to shut down; otherwise empty. */
  readonly text: string;
}

/** A running or finished action. */
export interface Job {
  readonly action: BulkAction;
  readonly boot: BootOverride | null;
  /** The results by the machine's id, in the natural order of names. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly isRunning: boolean;
  readonly isStopping: boolean;
  /** Aborts when the user stops the action, and when the login of the user ends. */
  readonly stopping: AbortController;
}

/** The latest action; null: none yet. It continues when the page of the machines closes. */
export const job = signal<Job | null>(null);

/** Whether the dialog with the results is open. */
export const isJobShown = signal(false);

/**
 * The service runs at most eight changes at the same time; those that take long do not count. This number
 * leaves two to other clients.
 */
const AT_ONCE = 6;
/** Results within this time are one update, in milliseconds. */
const UPDATE_MS = 100;

// The next user must not see or continue the action of the previous user.
effect(() => {
  if (isUsable.value) return;
  job.peek()?.stopping.abort();
  job.value = null;
  isJobShown.value = false;
});

const isRunning = computed(() => job.value?.isRunning === true);
effect(() => (isRunning.value ? holdWork({ lost: bulkTexts.job.lost, end: 'console' }) : undefined));

/** Runs an action, and shows its results. @param boot the override of the action `boot`; null for other actions. */
export async function startJob(
  action: BulkAction,
  { changed, skipped }: Plan,
  boot: BootOverride | null,
): Promise<void> {
  const first: readonly Outcome[] = [
    ...changed.map((machine) => ({ machine, state: 'waiting', text: '' }) as const),
    ...skipped.map(({ machine, reason }) => ({ machine, state: 'skipped', text: reason }) as const),
  ];
  const ordered = first.toSorted((a, b) => compareNames(a.machine.Name, b.machine.Name));
  const outcomes = new Map(ordered.map((outcome) => [outcome.machine.Id, outcome]));
  const stopping = new AbortController();
  job.value = { action, boot, outcomes, isRunning: true, isStopping: false, stopping };
  isJobShown.value = true;
  const show = (change: Partial<Job>): void => {
    if (job.value?.stopping === stopping) job.value = { ...job.value, outcomes: new Map(outcomes), ...change };
  };
  let timer: ReturnType<typeof setTimeout> | null = null;
  const settle = (machine: Machine, state: Outcome['state'], text = ''): void => {
    outcomes.set(machine.Id, { machine, state, text });
    timer ??= setTimeout(() => {
      timer = null;
      show({});
    }, UPDATE_MS);
  };
  const waiting = ordered.filter(({ state }) => state === 'waiting').map(({ machine }) => machine);
  const work = async (): Promise<void> => {
    for (let machine = waiting.shift(); machine !== undefined; machine = waiting.shift()) {
      if (stopping.signal.aborted) settle(machine, 'stopped');
      else {
        settle(machine, 'running');
        const { state, text } = await perform(action, machine, boot);
        settle(machine, state, text);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  show({ isRunning: false });
}

/** Stops the action: it changes no machine that still waits. Running requests continue. */
export function stopJob(): void {
  if (job.value === null) return;
  job.value.stopping.abort();
  job.value = { ...job.value, isStopping: true };
}

/** Returns the number of machines in each state. */
export function countOutcomes({ outcomes }: Job): Readonly<Record<Outcome['state'], number>> {
  const counts = { waiting: 0, running: 0, done: 0, failed: 0, skipped: 0, stopped: 0 };
  for (const { state } of outcomes.values()) counts[state] += 1;
  return counts;
}

/** Performs the action on one machine, and returns its result. */
async function perform(
  action: BulkAction,
  machine: Machine,
  boot: BootOverride | null,
): Promise<Pick<Outcome, 'state' | 'text'>> {
  try {
    if (action === 'boot') {
      if (boot !== null) await setBootOverride(machine, boot);
      return { state: 'done', text: '' };
    }
    if (action !== 'eject') {
      await resetMachine(machine, action);
      return { state: 'done', text: action === 'GracefulShutdown' ? bulkTexts.job.accepted : '' };
    }
    const inserted = (await readDrives(machine.Id)).filter(({ Inserted }) => Inserted === true);
    for (const drive of inserted) await ejectImage(drive);
    return inserted.length > 0 ? { state: 'done', text: '' } : { state: 'skipped', text: bulkTexts.reasons.noImage };
  } catch (error) {
    return { state: 'failed', text: messageOf(error) };
  } finally {
    readMachineAgain(machine.Id);
  }
}
