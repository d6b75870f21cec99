/**
 * Operations of several steps that have begun, as a machine's metadata keeps them. An operation writes its intent before its
 * first step and removes it with its last, so a daemon that starts after a crash finishes the operation.
 */
import { MEDIA_DEVICES, type MediaDevice } from '../../media-snapshot.js';
import { attribute, type XmlElement } from './parse.js';

/** The machine is off and has to run. */
export interface StartIntent {
  readonly kind: 'start';
  /** The start is a boot, and a saved state is dropped; else the machine goes on from its saved state. */
  readonly fresh: boolean;
}

/** The machine has to run in a new process. */
export interface RestartIntent {
  readonly kind: 'restart';
  /** libvirt's id of the process that has to end. */
  readonly instance: number;
  /** The process is destroyed; else the guest was asked to shut down. */
  readonly force: boolean;
}

/** The guest's drive has to hold what the definition's drive holds. */
export interface DriveIntent {
  readonly kind: 'drive';
  readonly device: MediaDevice;
}

/** libvirt's autostart has to have this value. */
export interface AutostartIntent {
  readonly kind: 'autostart';
  readonly on: boolean;
}

/** The running QEMU has to know the boot order of the definition. */
export interface OrderIntent {
  readonly kind: 'order';
}

/** An operation that has begun. A machine has at most one of each kind, and one `drive` for each device. */
export type Intent = StartIntent | RestartIntent | DriveIntent | AutostartIntent | OrderIntent;

/** Intents of a machine; null where there is none. */
export type Intents = readonly Intent[] | null;

/** Returns null for an element that this version does not write. */
export function readIntent(element: XmlElement): Intent | null {
  switch (attribute(element, 'kind')) {
    case 'start':
      return { kind: 'start', fresh: attribute(element, 'fresh') === 'yes' };
    case 'restart':
      return restartOf(attribute(element, 'instance'), attribute(element, 'force') === 'yes');
    case 'drive': {
      const device = MEDIA_DEVICES.find((known) => known === attribute(element, 'device'));
      return device === undefined ? null : { kind: 'drive', device };
    }
    case 'autostart':
      return { kind: 'autostart', on: attribute(element, 'on') === 'yes' };
    case 'order':
      return { kind: 'order' };
    default:
      return null;
  }
}

/** Reads the attribute by which version 0.1 kept a restart; null where there is none. */
export function restartOf(instance: string | null, force = false): RestartIntent | null {
  if (instance === null || !/^\d+$/.test(instance)) return null;
  return { kind: 'restart', instance: Number(instance), force };
}

/** Returns the attributes of the element. */
export function renderIntent(intent: Intent): Readonly<Record<string, string | number>> {
  const yesOrNo = (value: boolean): string => (value ? 'yes' : 'no');
  switch (intent.kind) {
    case 'start':
      return { kind: intent.kind, fresh: yesOrNo(intent.fresh) };
    case 'restart':
      return { kind: intent.kind, instance: intent.instance, force: yesOrNo(intent.force) };
    case 'drive':
      return { kind: intent.kind, device: intent.device };
    case 'autostart':
      return { kind: intent.kind, on: yesOrNo(intent.on) };
    case 'order':
      return { kind: intent.kind };
  }
}

/** Returns the intents with one more, in the place of an earlier one about the same thing. */
export function withIntent(intents: Intents, intent: Intent): Intents {
  return [...(intents ?? []).filter((known) => !isSame(known, intent)), intent];
}

/** Returns the intents without the one about the same thing; null where none is left. */
export function withoutIntent(intents: Intents, intent: Intent): Intents {
  return orNull((intents ?? []).filter((known) => !isSame(known, intent)));
}

/** Returns the intents without those about power; null where none is left. */
export function withoutPowerIntent(intents: Intents): Intents {
  return orNull((intents ?? []).filter(({ kind }) => kind !== 'start' && kind !== 'restart'));
}

/** Returns the intent about power. */
export function powerIntent(intents: Intents): StartIntent | RestartIntent | null {
  return intents?.find((intent) => intent.kind === 'start' || intent.kind === 'restart') ?? null;
}

/** Power is one thing: a machine that is to start is not to restart. */
function isSame(a: Intent, b: Intent): boolean {
  const power = (kind: Intent['kind']): boolean => kind === 'start' || kind === 'restart';
  if (a.kind === 'drive' && b.kind === 'drive') return a.device === b.device;
  return a.kind === b.kind || (power(a.kind) && power(b.kind));
}

function orNull(intents: readonly Intent[]): Intents {
  return intents.length === 0 ? null : intents;
}
