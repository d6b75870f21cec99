/** The WebSocket with the screen of a machine. */
import { DriverError } from '../../drivers/driver-error.js';
import { webSocketDefiner } from '../../redfish/web-socket.js';
import { maxViewersPerMachine } from '../../offers/screens.js';
import type { Services } from '../../resources/services.js';
import { openScreen } from '../screen.js';

/** The screen: VNC in binary messages. */
export const screenSocket = webSocketDefiner<Services>()({
  entity: 'ComputerSystem',
  uri: '/redfish/v1/Systems/{systemId}/GraphicalConsole',
  // Everyone who can log in may watch. The handler drops the input of clients without
  // ConfigureComponents.
  privilegesOf: 'GET',
  maxPerMachine: maxViewersPerMachine,
  open: async ({ params: { systemId }, services: { driver } }) => {
    if (driver.display === undefined) {
      const { name } = await driver.getSystem(systemId);
      throw new DriverError('conflict', `opening the screen of machine ${name}: the hypervisor offers no VNC`);
    }
    const access = await driver.display.find(systemId);
    return { machine: access.machine.uuid, accept: (client) => openScreen(access, client) };
  },
});
