/** Publishes clients' writes as events, for all resources. Exceptions: {@link ChangeListener}. */
import type { Change, ChangeListener } from '../../redfish/exchange.js';
import { machineUuidOf } from '../../redfish/machine-of.js';
import { resourceEventRegistry } from '../../redfish/messages/resource-event-registry.js';
import type { EventBus } from '../event-bus.js';

const keys = {
  created: 'ResourceCreated',
  changed: 'ResourceChanged',
  removed: 'ResourceRemoved',
} as const satisfies Readonly<Record<Change['kind'], string>>;

/** Returns the user of a session; null if the session has none; undefined if it does not exist. */
type SessionUser = (id: string) => string | null | undefined;

/**
 * Creates the listener that the request pipeline calls after each write.
 * @param sessionUser returns the user of a new session, because a login request has no user yet.
 */
export function publishWrites(
  events: Pick<EventBus, 'publish'>,
  sessionUser: SessionUser = () => undefined,
): ChangeListener {
  return ({ kind, uri, requester: { user, address }, detail }) => {
    const session =
      kind === 'created' ? /^\/redfish\/v1\/SessionService\/Sessions\/([^/]+)$/.exec(uri)?.[1] : undefined;
    const text = kind === 'changed' ? detail : uri.replace('/redfish/v1/', '');
    events.publish({
      messageId: `${resourceEventRegistry}.${keys[kind]}`,
      messageArgs: [],
      severity: 'OK',
      origin: uri,
      system: machineUuidOf(uri),
      actor: { user: user ?? (session === undefined ? null : (sessionUser(session) ?? null)), address },
      time: new Date(),
      ...(text === undefined || text === '' ? {} : { detail: `${text}.` }),
    });
  };
}
