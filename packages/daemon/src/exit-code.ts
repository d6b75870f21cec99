/**
 * Exit codes of the daemons, by sysexits.h where it has one. systemd starts a service again after `failed`, because the cause may
 * have passed. It does not after the other two: only a person can correct a command line or a configuration.
 */
export const exitCode = {
  done: 0,
  failed: 1,
  /** EX_USAGE: an unknown flag, or a flag without its value. */
  usage: 64,
  /** EX_CONFIG: a setting, or a file that a setting names, cannot be used. */
  configuration: 78,
} as const;
