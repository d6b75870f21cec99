/** The services that the resources of consoles use, and `defineResource` for these services. */
import type { ConsoleHub } from '../console-hub.js';
import type { ConsoleLogs } from '../log/console-log.js';
import type { ConsoleSsh } from '../../offers/console-ssh.js';
import type { WebConsoles } from '../../offers/web-consoles.js';
import { resourceDefiner } from '../../redfish/resource.js';
import type { ServicesWith } from '../../resources/services.js';

/** The services of consoles. */
export interface ConsoleServices {
  /** Console access over SSH; null if it is not available, for the reasons of `openConsoleSsh`. */
  readonly consoleSsh: ConsoleSsh | null;
  /** Consoles as WebSockets; null if the hypervisor has no consoles. */
  readonly webConsoles: WebConsoles | null;
  /** Null if the hypervisor has no consoles. */
  readonly consoleHub: ConsoleHub | null;
  /** Recorded output of the serial ports; null if the log is disabled, or if no output can be recorded. */
  readonly consoleLogs: ConsoleLogs | null;
}

/** The services that all resources use, and those of consoles. */
export type Services = ServicesWith<ConsoleServices>;

/** Defines a resource; TypeScript infers its types from its URI, `load` and bodies. */
export const defineResource = resourceDefiner<Services>();
