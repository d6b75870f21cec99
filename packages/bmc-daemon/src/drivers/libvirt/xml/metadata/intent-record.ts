/**
 * Intents in a machine's metadata. An intent is an operation of several steps that has begun. An
 * operation writes its intent before its first step, and removes it with its last step. If the
 * daemon crashes in between, it completes the operation after its next start.
 */
import type { MediaDevice } from '../../../snapshot/media-snapshot.js';

/** The machine must be started. */
export interface StartIntent {
  readonly kind: 'start';
  /**
   * True: the machine must boot, and a saved state is removed. False: it continues from its saved state, if it has
   * one.
   */
  readonly fresh: boolean;
}

/** The machine must run in a new process. */
export interface RestartIntent {
  readonly kind: 'restart';
  /** libvirt's id of the process that must end. */
  readonly instance: number;
  /** True: the daemon destroys the process. False: it has asked the guest to shut down. */
  readonly force: boolean;
}

/** The drive of the guest must have the image of the definition. */
interface DriveIntent {
  readonly kind: 'drive';
  readonly device: MediaDevice;
}

/** libvirt's autostart must have this value. */
interface AutostartIntent {
  readonly kind: 'autostart';
  readonly on: boolean;
}

/** The running QEMU must have the boot order of the definition. */
interface OrderIntent {
  readonly kind: 'order';
}

/** An operation that has begun. A machine has at most one of each kind, and one `drive` for each device. */
export type Intent = StartIntent | RestartIntent | DriveIntent | AutostartIntent | OrderIntent;

/** Intents of a machine; null if there are none. */
export type Intents = readonly Intent[] | null;

/** Adds an intent. It replaces an intent of the same kind, as {@link isSame} compares them. */
export function withIntent(intents: Intents, intent: Intent): Intents {
  return [...(intents ?? []).filter((known) => !isSame(known, intent)), intent];
}

/** Returns the intents without those that {@link isSame} counts as the same kind as `intent`; null if none is left. */
export function withoutIntent(intents: Intents, intent: Intent): Intents {
  return orNull((intents ?? []).filter((known) => !isSame(known, intent)));
}

/** Returns the intents without start and restart; null if none is left. */
export function withoutPowerIntent(intents: Intents): Intents {
  return orNull((intents ?? []).filter(({ kind }) => kind !== 'start' && kind !== 'restart'));
}

/** Returns the start or restart intent, or null. */
export function powerIntent(intents: Intents): StartIntent | RestartIntent | null {
  return intents?.find((intent) => intent.kind === 'start' || intent.kind === 'restart') ?? null;
}

/**
 * Returns whether two intents have the same kind, and for `drive` the same device. Start and restart count as
 * the same kind, because a machine needs only one of them.
 */
function isSame(a: Intent, b: Intent): boolean {
  const power = (kind: Intent['kind']): boolean => kind === 'start' || kind === 'restart';
  if (a.kind === 'drive' && b.kind === 'drive') return a.device === b.device;
  return a.kind === b.kind || (power(a.kind) && power(b.kind));
}

function orNull(intents: readonly Intent[]): Intents {
  return intents.length === 0 ? null : intents;
}
