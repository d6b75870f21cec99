/**
 * Domain enumerations with libvirt's names and values: `VIR_DOMAIN_RUNNING` is
 * `DomainState.RUNNING`. Combine flags with `|`. Results have the type `number`, because a newer
 * daemon may send other values.
 * @see https://libvirt.org/html/libvirt-libvirt-domain.html
 */

/** State of a domain. @see virDomainState */
export const DomainState = {
  NOSTATE: 0,
  RUNNING: 1,
  BLOCKED: 2,
  PAUSED: 3,
  SHUTDOWN: 4,
  SHUTOFF: 5,
  CRASHED: 6,
  PMSUSPENDED: 7,
} as const;

/** Reason why a domain is running. @see virDomainRunningReason */
export const DomainRunningReason = {
  UNKNOWN: 0,
  BOOTED: 1,
  MIGRATED: 2,
  RESTORED: 3,
  FROM_SNAPSHOT: 4,
  UNPAUSED: 5,
  MIGRATION_CANCELED: 6,
  SAVE_CANCELED: 7,
  WAKEUP: 8,
  CRASHED: 9,
  POSTCOPY: 10,
  POSTCOPY_FAILED: 11,
} as const;

/** Reason why a domain is paused. @see virDomainPausedReason */
export const DomainPausedReason = {
  UNKNOWN: 0,
  USER: 1,
  MIGRATION: 2,
  SAVE: 3,
  DUMP: 4,
  IOERROR: 5,
  WATCHDOG: 6,
  FROM_SNAPSHOT: 7,
  SHUTTING_DOWN: 8,
  SNAPSHOT: 9,
  CRASHED: 10,
  STARTING_UP: 11,
  POSTCOPY: 12,
  POSTCOPY_FAILED: 13,
} as const;

/** Reason why a domain is not running. @see virDomainShutoffReason */
export const DomainShutoffReason = {
  UNKNOWN: 0,
  SHUTDOWN: 1,
  DESTROYED: 2,
  CRASHED: 3,
  MIGRATED: 4,
  SAVED: 5,
  FAILED: 6,
  FROM_SNAPSHOT: 7,
  DAEMON: 8,
} as const;

/**
 * Content of `getXmlDesc`. INACTIVE: the persistent definition. SECURE: with passwords; use it
 * before you edit and define the XML again, or the passwords are lost.
 * @see virDomainXMLFlags
 */
export const DomainXmlFlags = { SECURE: 1, INACTIVE: 2, UPDATE_CPU: 4, MIGRATABLE: 8 } as const;

/** VALIDATE: check the XML against libvirt's schema. @see virDomainDefineFlags */
export const DomainDefineFlags = { VALIDATE: 1 } as const;

/**
 * Data to remove or to keep when the definition is removed. UEFI needs NVRAM or KEEP_NVRAM.
 * @see virDomainUndefineFlagsValues
 */
export const DomainUndefineFlags = {
  MANAGED_SAVE: 1,
  SNAPSHOTS_METADATA: 2,
  NVRAM: 4,
  KEEP_NVRAM: 8,
  CHECKPOINTS_METADATA: 16,
  TPM: 32,
  KEEP_TPM: 64,
} as const;

/**
 * Options of a start. AUTODESTROY: libvirtd stops the domain when the work connection ends. That
 * happens when the hypervisor is closed, the connection is lost, or four calls got no reply.
 * @see virDomainCreateFlags
 */
export const DomainCreateFlags = {
  NONE: 0,
  START_PAUSED: 1,
  START_AUTODESTROY: 2,
  START_BYPASS_CACHE: 4,
  START_FORCE_BOOT: 8,
  START_VALIDATE: 16,
  START_RESET_NVRAM: 32,
} as const;

/** Power state of a suspended guest. @see virNodeSuspendTarget */
export const NodeSuspendTarget = {
  /** ACPI S3: the guest keeps its memory. */
  MEM: 0,
  /** ACPI S4: the guest writes its memory to disk and powers off. */
  DISK: 1,
  HYBRID: 2,
} as const;

/** Method of a shutdown request; 0: the hypervisor chooses. @see virDomainShutdownFlagValues */
export const DomainShutdownFlags = {
  DEFAULT: 0,
  ACPI_POWER_BTN: 1,
  GUEST_AGENT: 2,
  INITCTL: 4,
  SIGNAL: 8,
  PARAVIRT: 16,
} as const;

/** Method of a reboot request; 0: the hypervisor chooses. @see virDomainRebootFlagValues */
export const DomainRebootFlags = {
  DEFAULT: 0,
  ACPI_POWER_BTN: 1,
  GUEST_AGENT: 2,
  INITCTL: 4,
  SIGNAL: 8,
  PARAVIRT: 16,
} as const;

/**
 * GRACEFUL: send SIGTERM and never SIGKILL; fails if that is not enough.
 * @see virDomainDestroyFlagsValues
 */
export const DomainDestroyFlags = { DEFAULT: 0, GRACEFUL: 1, REMOVE_LOGS: 2 } as const;

/**
 * Target of a change: LIVE: the running domain; CONFIG: the persistent definition; CURRENT: LIVE if
 * the domain is running, else CONFIG.
 * @see virDomainModificationImpact
 */
export const DomainModificationImpact = { CURRENT: 0, LIVE: 1, CONFIG: 2 } as const;

/**
 * Target of a change as in {@link DomainModificationImpact}. FORCE: eject a medium that the guest
 * has locked.
 * @see virDomainDeviceModifyFlags
 */
export const DomainDeviceModifyFlags = { CURRENT: 0, LIVE: 1, CONFIG: 2, FORCE: 4 } as const;

/**
 * Type of metadata: description, title, or an XML element of a namespace.
 * @see virDomainMetadataType
 */
export const DomainMetadataType = { DESCRIPTION: 0, TITLE: 1, ELEMENT: 2 } as const;

/**
 * Source of addresses: libvirt's DHCP server, the guest agent, or the ARP table of the host.
 * @see virDomainInterfaceAddressesSource
 */
export const DomainInterfaceAddressesSource = { LEASE: 0, AGENT: 1, ARP: 2 } as const;

/**
 * Source of the host name: the DHCP server of the network, or the guest agent.
 * @see virDomainGetHostnameFlags
 */
export const DomainGetHostnameFlags = { LEASE: 1, AGENT: 2 } as const;

/** Type of an address. @see virIPAddrType */
export const IpAddrType = { IPV4: 0, IPV6: 1 } as const;

/**
 * FORCE: disconnect another client. SAFE: fail if exclusive access is not guaranteed.
 * @see virDomainConsoleFlags
 */
export const DomainConsoleFlags = { FORCE: 1, SAFE: 2 } as const;

/** Groups of statistics. Only STATE is available while QEMU hangs. @see virDomainStatsTypes */
export const DomainStatsTypes = {
  STATE: 1,
  CPU_TOTAL: 2,
  BALLOON: 4,
  VCPU: 8,
  INTERFACE: 16,
  BLOCK: 32,
  PERF: 64,
  IOTHREAD: 128,
  MEMORY: 256,
  DIRTYRATE: 512,
  VM: 1024,
} as const;

/**
 * Filters and options of statistics. NOWAIT: omit values for which libvirtd would have to wait.
 * @see virConnectGetAllDomainStatsFlags
 */
export const ConnectGetAllDomainStatsFlags = {
  ACTIVE: 1,
  INACTIVE: 2,
  PERSISTENT: 4,
  TRANSIENT: 8,
  RUNNING: 16,
  PAUSED: 32,
  SHUTOFF: 64,
  OTHER: 128,
  NOWAIT: 536_870_912,
  BACKING: 1_073_741_824,
  ENFORCE_STATS: 2_147_483_648,
} as const;

/** Filters of a list of domains; 0: all. @see virConnectListAllDomainsFlags */
export const ConnectListAllDomainsFlags = {
  ACTIVE: 1,
  INACTIVE: 2,
  PERSISTENT: 4,
  TRANSIENT: 8,
  RUNNING: 16,
  PAUSED: 32,
  SHUTOFF: 64,
  OTHER: 128,
  MANAGEDSAVE: 256,
  NO_MANAGEDSAVE: 512,
  AUTOSTART: 1024,
  NO_AUTOSTART: 2048,
  HAS_SNAPSHOT: 4096,
  NO_SNAPSHOT: 8192,
  HAS_CHECKPOINT: 16_384,
  NO_CHECKPOINT: 32_768,
} as const;

/**
 * Protocol of the QEMU monitor: DEFAULT is QMP (JSON), HMP is text.
 * @see virDomainQemuMonitorCommandFlags
 */
export const DomainQemuMonitorCommandFlags = { DEFAULT: 0, HMP: 1 } as const;
