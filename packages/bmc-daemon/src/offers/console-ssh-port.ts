/** The TCP port of consoles over SSH. */

/** The port of `auto`. */
const DEFAULT_PORT = 2222;

/**
 * Returns the port at which the service opens consoles over SSH; null: it opens none.
 * @param wanted EMULATOR_CONSOLE_SSH_PORT.
 * @param authFile EMULATOR_AUTH_FILE. Without accounts, every client could use the consoles. So
 *   `auto` disables SSH then.
 */
export function consoleSshPort(wanted: number | 'auto' | null, authFile: string | null): number | null {
  if (wanted !== 'auto') return wanted;
  return authFile === null ? null : DEFAULT_PORT;
}
