/** The collection of a system's logs, which features serve. */
import { renderCollection } from '../reference.js';
import { defineResource } from '../services.js';

/** The logs of a system: its events, and the output of its serial port. */
export const systemLogServices = defineResource({
  entity: 'LogServiceCollection',
  odataType: '#LogServiceCollection.LogServiceCollection',
  uri: '/redfish/v1/Systems/{systemId}/LogServices',
  load: async ({ params, services }) => {
    const { uuid, hasConsole } = await services.driver.getSystem(params.systemId);
    return { uuid, hasConsoleLog: services.consoleLogs !== null && hasConsole === true };
  },
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: ({ hasConsoleLog }, { self, isServed }) => {
    const uris = [`${self}/EventLog`, ...(hasConsoleLog ? [`${self}/ConsoleLog`] : [])];
    return renderCollection('Log Service Collection', uris.filter(isServed));
  },
});
