/** How a machine's serial port is reached, as its manager and as the machine itself tell it. */
import type { SystemSnapshot } from '../drivers/driver.js';
import type { JsonObject } from '../redfish/resource.js';
import type { ConsoleSsh } from './services.js';

/** Nothing where the machine has no such port, or nobody serves it. */
export function renderManagerConsole(
  { hasConsole }: Pick<SystemSnapshot, 'hasConsole'>,
  ssh: ConsoleSsh | null,
): JsonObject {
  if (hasConsole !== true || ssh === null) return {};
  return {
    SerialConsole: {
      ServiceEnabled: true,
      MaxConcurrentSessions: ssh.mostConsoles,
      ConnectTypesSupported: ['SSH'],
    },
  };
}

/** As {@link renderManagerConsole}, with what a client needs to get there: `ssh -p PORT ACCOUNT@host COMMAND`. */
export function renderSystemConsole({ hasConsole, name }: SystemSnapshot, ssh: ConsoleSsh | null): JsonObject {
  if (hasConsole !== true || ssh === null) return {};
  return {
    SerialConsole: {
      MaxConcurrentSessions: ssh.mostConsoles,
      SSH: {
        ServiceEnabled: true,
        Port: ssh.port,
        // There is no other command line behind it.
        SharedWithManagerCLI: false,
        ConsoleEntryCommand: name,
        HotKeySequenceDisplay: '~. at the start of a line, or Ctrl-] and a dot',
      },
    },
  };
}
