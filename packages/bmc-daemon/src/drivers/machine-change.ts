/** What a driver tells of by itself: whoever did it, this service, a person with virsh, or the guest. */
import type { DomainState } from './driver.js';

/** In hypervisor words. */
export type MachineChangeKind =
  /** The machine was not there before. */
  | 'defined'
  /** It is gone. */
  | 'undefined'
  /** Something of its definition, its devices or what is stored with it. */
  | 'changed'
  /** An image was put into a drive or taken out of it. */
  | 'media'
  | 'started'
  | 'stopped'
  | 'paused'
  | 'resumed'
  /** The guest sleeps (ACPI S3). */
  | 'suspended'
  /** The guest panicked, or its process died. */
  | 'crashed'
  /** The guest was reset, or restarted itself. */
  | 'rebooted'
  /** The guest is on its way down. */
  | 'shuttingDown';

/** Something that happened to a machine, whoever did it. */
export interface MachineChange {
  readonly kind: MachineChangeKind;
  /** Canonical lower-case UUID. */
  readonly uuid: string;
  /** The machine's name at that moment. */
  readonly name: string;
  /** More of it, where the hypervisor says so, for people: `destroyed`, `shut down by its guest`, `migrated`. */
  readonly reason?: string;
}

/** Told of changes in their order; it must not throw. */
export type MachineChangeListener = (change: MachineChange) => void;

/** The change that a new state means, for a driver that sees states and not events; undefined where it means none. */
export function changeOfState(before: DomainState, after: DomainState): MachineChangeKind | undefined {
  if (before === after) return undefined;
  switch (after) {
    case 'shutoff':
      return 'stopped';
    case 'crashed':
      return 'crashed';
    case 'paused':
      return 'paused';
    case 'pmsuspended':
      return 'suspended';
    case 'shutdown':
      return 'shuttingDown';
    case 'nostate':
    case 'running':
    case 'blocked':
      if (before === 'paused' || before === 'pmsuspended') return 'resumed';
      return before === 'shutoff' || before === 'crashed' ? 'started' : undefined;
  }
}
