/** Renders the SerialConsole of a system and of its manager. */
import type { SystemSnapshot } from '../drivers/snapshot/system-snapshot.js';
import type { JsonObject } from '../redfish/resource.js';
import type { ConsoleSsh } from '../offers/console-ssh.js';

/**
 * Renders the manager's SerialConsole; empty if the machine has no serial port or SSH is off.
 * @see DSP2046, SerialConsole
 */
export function renderManagerConsole(
  { hasConsole }: Pick<SystemSnapshot, 'hasConsole'>,
  ssh: ConsoleSsh | null,
): JsonObject {
  if (hasConsole !== true || ssh === null) return {};
  return {
    SerialConsole: {
      ServiceEnabled: true,
      MaxConcurrentSessions: ssh.maxConsoles,
      ConnectTypesSupported: ['SSH'],
    },
  };
}

/**
 * Renders the system's SerialConsole with the data for `ssh -p PORT ACCOUNT@host COMMAND`; empty if
 * the machine has no serial port or SSH is off.
 */
export function renderSystemConsole({ hasConsole, name }: SystemSnapshot, ssh: ConsoleSsh | null): JsonObject {
  if (hasConsole !== true || ssh === null) return {};
  return {
    SerialConsole: {
      MaxConcurrentSessions: ssh.maxConsoles,
      SSH: {
        ServiceEnabled: true,
        Port: ssh.port,
        // The SSH server offers only consoles, and no command line.
        SharedWithManagerCLI: false,
        ConsoleEntryCommand: name,
        HotKeySequenceDisplay: '~. at the start of a line, or Ctrl-] and a dot',
      },
    },
  };
}
