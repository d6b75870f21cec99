/**
 * Domain enumerations with libvirt's names and values: `VIR_DOMAIN_RUNNING` is `DomainState.RUNNING`. Flags combine with `|`.
 * A newer daemon may send values that are not listed here, so what is read has the type `number`.
 * @see https://libvirt.org/html/libvirt-libvirt-domain.html
 */

/** What a domain is doing. @see virDomainState */
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

/** Why a domain runs. @see virDomainRunningReason */
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

/** Why a domain is paused. @see virDomainPausedReason */
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

/** Why a domain is off. @see virDomainShutoffReason */
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
 * What `getXmlDesc` leaves in. INACTIVE: the persistent definition; SECURE: with passwords (a definition that is edited and
 * defined again must be read with it, or they are lost). @see virDomainXMLFlags
 */
export const DomainXmlFlags = { SECURE: 1, INACTIVE: 2, UPDATE_CPU: 4, MIGRATABLE: 8 } as const;

/** VALIDATE checks against libvirt's schema first. @see virDomainDefineFlags */
export const DomainDefineFlags = { VALIDATE: 1 } as const;

/** What goes with the definition. An UEFI guest needs NVRAM or KEEP_NVRAM. @see virDomainUndefineFlagsValues */
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
 * How a domain starts. AUTODESTROY ends it with the work connection that started it: when the hypervisor is closed, and also
 * when that connection is lost. @see virDomainCreateFlags
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

/** How deep a guest sleeps. @see virNodeSuspendTarget */
export const NodeSuspendTarget = {
  /** Memory stays powered: ACPI S3. */
  MEM: 0,
  /** Memory is written to disk, and the machine goes off: ACPI S4. */
  DISK: 1,
  HYBRID: 2,
} as const;

/** By which way the guest is asked; 0 lets the hypervisor choose. @see virDomainShutdownFlagValues */
export const DomainShutdownFlags = {
  DEFAULT: 0,
  ACPI_POWER_BTN: 1,
  GUEST_AGENT: 2,
  INITCTL: 4,
  SIGNAL: 8,
  PARAVIRT: 16,
} as const;

/** By which way the guest is asked; 0 lets the hypervisor choose. @see virDomainRebootFlagValues */
export const DomainRebootFlags = {
  DEFAULT: 0,
  ACPI_POWER_BTN: 1,
  GUEST_AGENT: 2,
  INITCTL: 4,
  SIGNAL: 8,
  PARAVIRT: 16,
} as const;

/** GRACEFUL sends SIGTERM only, and fails where SIGKILL would be needed. @see virDomainDestroyFlagsValues */
export const DomainDestroyFlags = { DEFAULT: 0, GRACEFUL: 1, REMOVE_LOGS: 2 } as const;

/** Which definition a change touches. CURRENT: the live one when running, else the persistent one. @see virDomainModificationImpact */
export const DomainModificationImpact = { CURRENT: 0, LIVE: 1, CONFIG: 2 } as const;

/** As {@link DomainModificationImpact}; FORCE ejects a medium that the guest has locked. @see virDomainDeviceModifyFlags */
export const DomainDeviceModifyFlags = { CURRENT: 0, LIVE: 1, CONFIG: 2, FORCE: 4 } as const;

/** Which metadata: the description, the title, or the element of one namespace. @see virDomainMetadataType */
export const DomainMetadataType = { DESCRIPTION: 0, TITLE: 1, ELEMENT: 2 } as const;

/** Who is asked for addresses: libvirt's dnsmasq, the guest agent, the host's ARP table. @see virDomainInterfaceAddressesSource */
export const DomainInterfaceAddressesSource = { LEASE: 0, AGENT: 1, ARP: 2 } as const;

/** Who is asked for the guest's name: the DHCP server of its network, or the guest agent. @see virDomainGetHostnameFlags */
export const DomainGetHostnameFlags = { LEASE: 1, AGENT: 2 } as const;

/** Kind of an address. @see virIPAddrType */
export const IpAddrType = { IPV4: 0, IPV6: 1 } as const;

/** FORCE disconnects another user of the console; SAFE refuses where that is not sure. @see virDomainConsoleFlags */
export const DomainConsoleFlags = { FORCE: 1, SAFE: 2 } as const;

/** Groups of statistics. Only STATE answers while a guest's QEMU hangs. @see virDomainStatsTypes */
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

/** Which domains, and how. NOWAIT leaves out what a busy domain can not tell at once. @see virConnectGetAllDomainStatsFlags */
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

/** Filters of a domain list, in pairs; 0 lists all. @see virConnectListAllDomainsFlags */
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

/** DEFAULT speaks QMP (JSON in, JSON out), HMP the human monitor's lines. @see virDomainQemuMonitorCommandFlags */
export const DomainQemuMonitorCommandFlags = { DEFAULT: 0, HMP: 1 } as const;
