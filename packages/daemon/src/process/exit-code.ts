/**
 * Exit codes of the daemons, as in sysexits.h. systemd restarts a service after `failed`, because
 * the cause may be temporary. It does not restart after `usage` and `configuration`, which only a
 * person can correct.
 */
export const exitCode = {
  done: 0,
  failed: 1,
  /** EX_USAGE: an unknown flag, or a flag without its value. */
  usage: 64,
  /** EX_CONFIG: a setting is invalid, or a file that a setting names. */
  configuration: 78,
} as const;
