/** The serial console of a system as a WebSocket. */
import { RedfishError } from '../../redfish/messages/errors.js';
import { message, withDetail } from '../../redfish/messages/messages.js';
import { webSocketDefiner } from '../../redfish/web-socket.js';
import { clientName } from '../console-keyboard.js';
import { maxWebConsoles, WebConsole } from '../web/web-console.js';
import type { Services } from './services.js';

const defineWebSocket = webSocketDefiner<Services>();

/** The WebSocket of `SerialConsole.WebSocket.ConsoleURI`. */
export const consoleWebSocket = defineWebSocket({
  entity: 'ComputerSystem',
  uri: '/redfish/v1/Systems/{systemId}/SerialConsole',
  // A client of the console can control the machine and see passwords. So it needs the privilege of a power-off.
  privilegesOf: 'POST',
  maxPerMachine: maxWebConsoles,
  open: async ({ params, services, requester }) => {
    const { consoleHub: hub, consoleLogs, driver, log } = services;
    const machine = await driver.getSystem(params.systemId);
    if (hub === null || machine.hasConsole !== true) {
      const detail = 'The machine has no serial port for clients.';
      throw new RedfishError(409, [withDetail(message('OperationNotAllowed'), detail)]);
    }
    return {
      machine: machine.uuid,
      accept: (client) =>
        new WebConsole({
          client,
          hub,
          bootLog: consoleLogs?.ofSystem(machine.uuid) ?? null,
          clientName: clientName(requester.user, requester.address),
          machine,
          log,
        }),
    };
  },
});
