/** Sessions are not offered yet; the schema of the service root demands the link, and what is linked says so truthfully. */
import { reference, renderCollection } from './reference.js';
import { defineResource } from './services.js';

const nothing = {};

const sessionService = defineResource({
  entity: 'SessionService',
  odataType: '#SessionService.v1_2_0.SessionService',
  uri: '/redfish/v1/SessionService',
  load: () => nothing,
  render: (_entity, { self }) => ({
    Id: 'SessionService',
    Name: 'Session Service',
    ServiceEnabled: false,
    Status: { State: 'Disabled' },
    Sessions: reference(`${self}/Sessions`),
  }),
});

const sessionCollection = defineResource({
  entity: 'SessionCollection',
  odataType: '#SessionCollection.SessionCollection',
  uri: '/redfish/v1/SessionService/Sessions',
  load: () => nothing,
  render: () => renderCollection('Session Collection', []),
});

/** The session service and its collection. */
export const sessionServiceResources = [sessionService, sessionCollection];
