/**
 * Sessions: a client logs in once with user and password and gets a token. POST of a session is the
 * only write that needs no login.
 */
import { z } from 'zod';
import type { Session } from '../../offers/logins.js';
import { LoginRefused } from '../../redfish/authenticate.js';
import { accountUri } from '../../redfish/authorize.js';
import { redfishError } from '../../redfish/messages/errors.js';
import { message } from '../../redfish/messages/messages.js';
import type { JsonObject } from '../../redfish/resource.js';
import { reference, renderCollection } from '../../resources/reference.js';
import { defineResource, type Services } from './services.js';
import { enabled } from '../../resources/status.js';

const sessionsUri = '/redfish/v1/SessionService/Sessions';

const sessionService = defineResource({
  entity: 'SessionService',
  odataType: '#SessionService.v1_2_0.SessionService',
  uri: '/redfish/v1/SessionService',
  load: ({ services }) => services.access.settings,
  render: ({ sessionTimeoutSeconds }) => ({
    Id: 'SessionService',
    Name: 'Session Service',
    Description: 'Sessions of users, and the timeout of unused sessions',
    ServiceEnabled: true,
    SessionTimeout: sessionTimeoutSeconds,
    Status: enabled,
    Sessions: reference(sessionsUri),
  }),
  patch: {
    // DMTF's schema has these bounds, and requires support for all values between them.
    body: z.strictObject({ SessionTimeout: z.int().min(30).max(86_400).optional() }),
    async apply({ sessionTimeoutSeconds }, { SessionTimeout = sessionTimeoutSeconds }, { services }) {
      await services.access.changeSettings({ sessionTimeoutSeconds: SessionTimeout });
      return undefined;
    },
  },
});

const sessionCollection = defineResource({
  entity: 'SessionCollection',
  odataType: '#SessionCollection.SessionCollection',
  uri: sessionsUri,
  load: ({ services }) => services.access.sessions.list(),
  render: (sessions): JsonObject => ({
    ...renderCollection(
      'Session Collection',
      sessions.map(({ id }) => `${sessionsUri}/${id}`),
    ),
    Description: 'Open sessions, including those of SSH consoles',
  }),
  post: {
    needsNoLogin: true,
    // sushycli sends null if it has no user and no password, so the schema accepts null.
    body: z.strictObject({ UserName: z.string().nullable(), Password: z.string().nullable() }),
    async run(_sessions, { UserName: user, Password: password }, { services, requester }) {
      const { address, signal } = requester;
      const opened = await services.access.openSession({ user, password }, { address, isGone: () => signal.aborted });
      if ('refused' in opened) throw new LoginRefused(opened);
      const { session, token, passwordChangeRequired } = opened;
      return {
        created: { location: `${sessionsUri}/${session.id}`, headers: { 'X-Auth-Token': token } },
        ...(passwordChangeRequired ? { messages: [message('PasswordChangeRequired', accountUri(user ?? ''))] } : {}),
      };
    },
  },
});

function findSession(services: Services, id: string): Session {
  const session = services.access.sessions.find(id);
  if (session === undefined) throw redfishError('ResourceNotFound', 'Session', id);
  return session;
}

const session = defineResource({
  entity: 'Session',
  odataType: '#Session.v1_8_0.Session',
  uri: '/redfish/v1/SessionService/Sessions/{sessionId}',
  isOwn: ({ params, services, requester }) =>
    requester.user !== null && services.access.sessions.find(params.sessionId)?.user === requester.user,
  load: ({ params, services }) => findSession(services, params.sessionId),
  render: ({ id, user, address, createdAt, type }) => ({
    Id: id,
    Name: type === 'Redfish' ? 'User Session' : 'Console Session',
    UserName: user,
    // Write-only: the schema requires null in responses.
    Password: null,
    SessionType: type,
    ClientOriginIPAddress: address,
    CreatedTime: createdAt.toISOString(),
  }),
  async delete({ id }, { services }) {
    await services.access.sessions.end(id);
    return undefined;
  },
});

/** The session service, its collection and its sessions. */
export const sessionServiceResources = [sessionService, sessionCollection, session];
