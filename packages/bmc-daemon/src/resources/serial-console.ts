/** Renders the SerialConsole of a system and of its manager. */
import type { SystemSnapshot } from '../drivers/snapshot/system-snapshot.js';
import type { JsonObject } from '../redfish/resource.js';
import type { ConsoleSsh } from '../offers/console-ssh.js';
import type { Services } from './services.js';

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
 * Renders the system's SerialConsole with the data for `ssh -p PORT ACCOUNT@host COMMAND` and the
 * URI of the WebSocket. The result is empty if the machine has no serial port, or if the service
 * offers neither SSH nor WebSockets for serial ports.
 * @see DSP2046, ComputerSystem, HostSerialConsole
 */
export function renderSystemConsole(
  { hasConsole, name, uuid }: SystemSnapshot,
  { consoleSsh: ssh, webConsoles }: Pick<Services, 'consoleSsh' | 'webConsoles'>,
): JsonObject {
  if (hasConsole !== true || (ssh === null && webConsoles === null)) return {};
  return {
    SerialConsole: {
      MaxConcurrentSessions: (ssh?.maxConsoles ?? 0) + (webConsoles?.maxPerMachine ?? 0),
      ...(ssh === null ? {} : { SSH: renderSsh(ssh, name) }),
      ...(webConsoles === null
        ? {}
        : {
            WebSocket: {
              ServiceEnabled: true,
              Interactive: true,
              ConsoleURI: `/redfish/v1/Systems/${uuid}/SerialConsole`,
            },
          }),
    },
  };
}

function renderSsh({ port }: ConsoleSsh, name: string): JsonObject {
  return {
    ServiceEnabled: true,
    Port: port,
    // The SSH server offers only consoles, and no command line.
    SharedWithManagerCLI: false,
    ConsoleEntryCommand: name,
    HotKeySequenceDisplay: '~. at the start of a line, or Ctrl-] and a dot',
  };
}
