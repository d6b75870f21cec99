/**
 * Event enumerations with libvirt's names and values.
 * @see https://libvirt.org/html/libvirt-libvirt-domain.html#virDomainEventID
 */

/** Kinds of domain events that {@link Hypervisor} supports. @see virDomainEventID */
export const DomainEventId = {
  LIFECYCLE: 0,
  REBOOT: 1,
  RTC_CHANGE: 2,
  WATCHDOG: 3,
  DISK_CHANGE: 9,
  TRAY_CHANGE: 10,
  BALLOON_CHANGE: 13,
  DEVICE_REMOVED: 15,
  BLOCK_JOB_2: 16,
  AGENT_LIFECYCLE: 18,
  DEVICE_ADDED: 19,
  METADATA_CHANGE: 23,
} as const;

/** Type of a lifecycle event. @see virDomainEventType */
export const DomainEventType = {
  DEFINED: 0,
  UNDEFINED: 1,
  STARTED: 2,
  SUSPENDED: 3,
  RESUMED: 4,
  STOPPED: 5,
  SHUTDOWN: 6,
  PMSUSPENDED: 7,
  CRASHED: 8,
} as const;

/** Detail of DEFINED. @see virDomainEventDefinedDetailType */
export const DomainEventDefinedDetail = { ADDED: 0, UPDATED: 1, RENAMED: 2, FROM_SNAPSHOT: 3 } as const;

/** Detail of UNDEFINED. @see virDomainEventUndefinedDetailType */
export const DomainEventUndefinedDetail = { REMOVED: 0, RENAMED: 1 } as const;

/** Detail of STARTED. @see virDomainEventStartedDetailType */
export const DomainEventStartedDetail = { BOOTED: 0, MIGRATED: 1, RESTORED: 2, FROM_SNAPSHOT: 3, WAKEUP: 4 } as const;

/** Detail of SUSPENDED. @see virDomainEventSuspendedDetailType */
export const DomainEventSuspendedDetail = {
  PAUSED: 0,
  MIGRATED: 1,
  IOERROR: 2,
  WATCHDOG: 3,
  RESTORED: 4,
  FROM_SNAPSHOT: 5,
  API_ERROR: 6,
  POSTCOPY: 7,
  POSTCOPY_FAILED: 8,
} as const;

/** Detail of RESUMED. @see virDomainEventResumedDetailType */
export const DomainEventResumedDetail = {
  UNPAUSED: 0,
  MIGRATED: 1,
  FROM_SNAPSHOT: 2,
  POSTCOPY: 3,
  POSTCOPY_FAILED: 4,
} as const;

/** Detail of STOPPED. @see virDomainEventStoppedDetailType */
export const DomainEventStoppedDetail = {
  SHUTDOWN: 0,
  DESTROYED: 1,
  CRASHED: 2,
  MIGRATED: 3,
  SAVED: 4,
  FAILED: 5,
  FROM_SNAPSHOT: 6,
} as const;

/**
 * Detail of SHUTDOWN: the side that requested it; FINISHED: unknown.
 * @see virDomainEventShutdownDetailType
 */
export const DomainEventShutdownDetail = { FINISHED: 0, GUEST: 1, HOST: 2 } as const;

/**
 * Reason of a tray event. Both insertion and removal of a medium cause OPEN and CLOSE: read the XML
 * to see the result.
 * @see virDomainEventTrayChangeReason
 */
export const DomainEventTrayChangeReason = { OPEN: 0, CLOSE: 1 } as const;

/** Reason why a disk changed at start. @see virConnectDomainEventDiskChangeReason */
export const DomainEventDiskChangeReason = { MISSING_ON_START: 0, DROP_MISSING_ON_START: 1 } as const;

/** State of the guest agent. @see virConnectDomainEventAgentLifecycleState */
export const DomainEventAgentLifecycleState = { CONNECTED: 1, DISCONNECTED: 2 } as const;

/**
 * Reason why the state of the guest agent changed.
 * @see virConnectDomainEventAgentLifecycleReason
 */
export const DomainEventAgentLifecycleReason = { UNKNOWN: 0, DOMAIN_STARTED: 1, CHANNEL: 2 } as const;

/** Action of the watchdog. @see virDomainEventWatchdogAction */
export const DomainEventWatchdogAction = {
  NONE: 0,
  PAUSE: 1,
  RESET: 2,
  POWEROFF: 3,
  SHUTDOWN: 4,
  DEBUG: 5,
  INJECTNMI: 6,
} as const;

/** Type of a block job. @see virDomainBlockJobType */
export const DomainBlockJobType = { UNKNOWN: 0, PULL: 1, COPY: 2, COMMIT: 3, ACTIVE_COMMIT: 4, BACKUP: 5 } as const;

/** Status of a block job. @see virConnectDomainEventBlockJobStatus */
export const DomainBlockJobStatus = { COMPLETED: 0, FAILED: 1, CANCELED: 2, READY: 3 } as const;
