/**
 * Changes of machines that a driver reports. This service, another program or the guest made them.
 */
import type { DomainState } from './snapshot/system-snapshot.js';

/** Kinds of changes, in hypervisor terms. */
export type MachineChangeKind =
  /** The machine is new. */
  | 'defined'
  /** The machine was removed. */
  | 'undefined'
  /** The definition, the devices or the stored data of the machine changed. */
  | 'changed'
  /** An image was inserted or ejected. */
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
  /** The guest is shutting down. */
  | 'shuttingDown'
  /** The machine is on another host now. Its state did not change. */
  | 'moved';

/** The reason of `paused` for a machine that is about to leave its host. */
export const migrating = 'migrating';
/** The reason of `started` for a machine that is on its way from another host, and does not run here yet. */
export const arriving = 'migrated to this host';
/** The reason of `stopped` for a machine that has left its host. */
export const migrated = 'migrated to another host';

/** The state after a change, if the change implies one. */
export const stateAfter: Readonly<Partial<Record<MachineChangeKind, DomainState>>> = {
  started: 'running',
  stopped: 'shutoff',
  paused: 'paused',
  resumed: 'running',
  suspended: 'pmsuspended',
  crashed: 'crashed',
};

/** A change of a machine. */
export interface MachineChange {
  readonly kind: MachineChangeKind;
  /** Canonical lower-case UUID. */
  readonly uuid: string;
  /** The name of the machine at that time. */
  readonly name: string;
  /**
   * Reason for users, if the hypervisor reports one or the driver knows one: `destroyed`, `shut down by its
   * guest`, `saved`.
   */
  readonly reason?: string;
}

/** Receives changes in order. It must not throw. */
export type MachineChangeListener = (change: MachineChange) => void;

/**
 * Returns the change between two states, for a driver that has read states and got no event. Returns
 * undefined if the states are equal, or if clients need no event for the change.
 */
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
