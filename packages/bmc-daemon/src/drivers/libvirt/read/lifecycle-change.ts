/** Translates lifecycle events of libvirt. */
import {
  DomainEventDefinedDetail,
  DomainEventShutdownDetail,
  DomainEventStartedDetail,
  DomainEventStoppedDetail,
  DomainEventSuspendedDetail,
  DomainEventType,
  DomainEventUndefinedDetail,
} from '@rackless/libvirt';
import { arriving, migrated, migrating, type MachineChangeKind } from '../../machine-change.js';

/** The change that a lifecycle event reports. */
export interface LifecycleChange {
  readonly kind: MachineChangeKind;
  readonly reason?: string;
}

/** Translates a lifecycle event. @returns undefined for an unknown event, or if clients need no event for it. */
export function describeLifecycle(event: number, detail: number): LifecycleChange | undefined {
  switch (event) {
    case DomainEventType.DEFINED:
      return { kind: detail === DomainEventDefinedDetail.ADDED ? 'defined' : 'changed' };
    case DomainEventType.UNDEFINED:
      // A renamed machine still exists. The event that follows with the new name reports the
      // change.
      return detail === DomainEventUndefinedDetail.RENAMED ? undefined : { kind: 'undefined' };
    case DomainEventType.STARTED:
      // A guest that wakes up was suspended, not off, so this is no start.
      if (detail === DomainEventStartedDetail.WAKEUP) return { kind: 'resumed', reason: 'woken up' };
      return withReason('started', startedReasons[detail]);
    case DomainEventType.SUSPENDED:
      return withReason('paused', suspendedReasons[detail]);
    case DomainEventType.RESUMED:
      return { kind: 'resumed' };
    case DomainEventType.STOPPED:
      return detail === DomainEventStoppedDetail.CRASHED
        ? { kind: 'crashed' }
        : withReason('stopped', stoppedReasons[detail]);
    case DomainEventType.SHUTDOWN:
      return withReason('shuttingDown', shutdownReasons[detail]);
    case DomainEventType.PMSUSPENDED:
      return { kind: 'suspended' };
    case DomainEventType.CRASHED:
      return { kind: 'crashed', reason: 'the guest panicked' };
    default:
      return undefined;
  }
}

function withReason(kind: MachineChangeKind, reason: string | undefined): LifecycleChange {
  return reason === undefined ? { kind } : { kind, reason };
}

type Reasons = Readonly<Record<number, string>>;

const startedReasons: Reasons = {
  [DomainEventStartedDetail.MIGRATED]: arriving,
  [DomainEventStartedDetail.RESTORED]: 'restored from a saved state',
  [DomainEventStartedDetail.FROM_SNAPSHOT]: 'restored from a snapshot',
};

const suspendedReasons: Reasons = {
  [DomainEventSuspendedDetail.MIGRATED]: migrating,
  [DomainEventSuspendedDetail.IOERROR]: 'a disk failed',
  [DomainEventSuspendedDetail.WATCHDOG]: 'its watchdog fired',
};

const stoppedReasons: Reasons = {
  [DomainEventStoppedDetail.SHUTDOWN]: 'shut down by its guest',
  [DomainEventStoppedDetail.DESTROYED]: 'destroyed',
  [DomainEventStoppedDetail.MIGRATED]: migrated,
  [DomainEventStoppedDetail.SAVED]: 'saved',
  [DomainEventStoppedDetail.FAILED]: 'its start or its hypervisor failed',
  [DomainEventStoppedDetail.FROM_SNAPSHOT]: 'replaced by a snapshot',
};

const shutdownReasons: Reasons = {
  [DomainEventShutdownDetail.GUEST]: 'requested by its guest',
  [DomainEventShutdownDetail.HOST]: 'requested by the host',
};
