/** The folder for the state of the service. */

/**
 * Returns the default of EMULATOR_STATE_DIR.
 * @param uid 0 for root; undefined on systems without users.
 */
export function defaultStateDir(
  environment: Readonly<Record<string, string | undefined>>,
  uid: number | undefined,
): string {
  // systemd sets a list with colons. The first entry is the state folder.
  const [systemd] = (environment['STATE_DIRECTORY'] ?? '').split(':');
  if (systemd !== undefined && systemd !== '') return systemd;
  const { XDG_STATE_HOME: state, HOME: home } = environment;
  if (uid === 0 || (state === undefined && home === undefined)) return '/var/lib/bmc-daemon';
  return `${state ?? `${home ?? ''}/.local/state`}/bmc-daemon`;
}
