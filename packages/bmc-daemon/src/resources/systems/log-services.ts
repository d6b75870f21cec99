/** The collection of a system's logs. */
import { renderCollection } from '../reference.js';
import { defineResource } from '../services.js';

/**
 * The logs of a system: its events, the output of its serial port, and the actions of the
 * hypervisor's clients.
 */
export const systemLogServices = defineResource({
  entity: 'LogServiceCollection',
  odataType: '#LogServiceCollection.LogServiceCollection',
  uri: '/redfish/v1/Systems/{systemId}/LogServices',
  load: async ({ params, services }) => {
    const { uuid, hasConsole, hasConsoleOutput } = await services.driver.getSystem(params.systemId);
    const hasOutput = hasConsole === true || hasConsoleOutput === true;
    const hasActionLog = services.driver.logs !== undefined;
    return { uuid, hasConsoleLog: services.consoleLogs !== null && hasOutput, hasActionLog };
  },
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: ({ hasConsoleLog, hasActionLog }, { self, isServed }) => {
    const uris = [
      `${self}/EventLog`,
      ...(hasConsoleLog ? [`${self}/ConsoleLog`] : []),
      ...(hasActionLog ? [`${self}/ActionLog`] : []),
    ];
    return renderCollection('Log Service Collection', uris.filter(isServed));
  },
});
