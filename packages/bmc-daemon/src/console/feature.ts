/** Serial consoles: their logs, and access over SSH and WebSockets. */
import { ListenError } from '@rackless/daemon/network/listener.js';
import { closeAfterFailure } from '@rackless/daemon/process/close-all.js';
import type { Feature, FeatureContext } from '../feature.js';
import { StartError } from '../start-error.js';
import { openConsoleServices, type ConsoleRecorder } from './console-services.js';
import { openConsoleSsh } from './ssh/console-ssh.js';
import { consoleLogResources } from './resources/console-log.js';
import { consoleWebSocket } from './resources/console-web-socket.js';
import type { ConsoleServices } from './resources/services.js';
import type { SshServer } from './ssh/ssh-server.js';
import { maxWebConsoles } from './web/web-console.js';

/** The feature `consoles`. Without it, serial ports are neither recorded nor reachable. */
export const consoles: Feature<ConsoleServices> = {
  resources: consoleLogResources,
  webSockets: [consoleWebSocket],
  async open(context) {
    const { settings, services, stateDir, log } = context;
    const { driver, serviceUuid } = services();
    const recorder = openConsoleServices({
      driver,
      // Only the full feature set serves the log.
      isLogged: settings.consoleLog && settings.featureSet === 'full',
      stateDir,
      serviceUuid,
      log,
    });
    const ssh = await openSsh(context, recorder);
    return {
      services: {
        consoleSsh: ssh,
        webConsoles: recorder.hub === null ? null : { maxPerMachine: maxWebConsoles },
        consoleHub: recorder.hub,
        consoleLogs: recorder.logs,
      },
      addAddress: async (address) => {
        const stopListening = await ssh?.addAddress(address).catch((error: unknown) => {
          // Does not throw, because Redfish still uses the address.
          log.warn(`no consoles over SSH at ${address}`, { error });
        });
        return stopListening ?? (() => undefined);
      },
      start: () => recorder.start(),
      stop: () => ssh?.close(),
      close: () => recorder.close(),
    };
  },
};

/**
 * Opens SSH before the first request, because Redfish shows whether consoles are reachable over
 * SSH. Closes the recorder if this fails.
 * @returns null as {@link openConsoleSsh}.
 * @throws {StartError} if the port or the address cannot be used.
 * @throws {StateFileError} if the settings name a port and the host keys are unusable.
 */
async function openSsh(context: FeatureContext, recorder: ConsoleRecorder): Promise<SshServer | null> {
  const { settings, origins, services, stateDir, log } = context;
  const { access, driver } = services();
  const machineAt = (address: string) => services().managerNetwork?.machineAt(address) ?? null;
  try {
    return await openConsoleSsh({ settings, hub: recorder.hub, access, driver, machineAt, stateDir, log });
  } catch (error) {
    await closeAfterFailure([recorder], log);
    if (!(error instanceof ListenError)) throw error;
    const key = error.about === 'port' ? 'consoleSshPort' : 'listenIp';
    throw new StartError(`${origins[key]}: ${error.message}`, { cause: error });
  }
}
