/**
 * The event logs of machines and managers. An entry shows the event. If a client caused the event, it also
 * shows the client's user and address.
 */
import { z } from 'zod';
import { originAddress } from '../event-record.js';
import type { EventLog, LogRecord } from '../event-logs.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { logServiceBase } from '../../resources/log-service-base.js';
import { reference, renderCollection } from '../../resources/reference.js';
import { dateTime } from '../../resources/service-time.js';
import { defineResource, type Services } from './services.js';

/** A log service: its URI, id and name, and access to its entries. */
interface LogDefinition {
  readonly collectionUri: '/redfish/v1/Systems/{ownerId}/LogServices' | '/redfish/v1/Managers/{ownerId}/LogServices';
  readonly id: string;
  readonly name: string;
  readonly purposes: readonly string[];
  readonly log: (services: Services, uuid: string) => EventLog;
}

interface LogEntity {
  readonly uuid: string;
}

const logDefinitions: readonly LogDefinition[] = [
  {
    collectionUri: '/redfish/v1/Systems/{ownerId}/LogServices',
    id: 'EventLog',
    name: 'Event Log of the Machine',
    purposes: ['Operations'],
    log: ({ logs }, uuid) => logs.ofSystem(uuid),
  },
  {
    collectionUri: '/redfish/v1/Managers/{ownerId}/LogServices',
    id: 'ManagerLog',
    name: 'Log of the Management Service',
    // This service is the manager of all machines. So every manager shows the same log, with the events of sessions,
    // accounts and settings.
    purposes: ['Security', 'Operations'],
    log: ({ logs }) => logs.ofService,
  },
];

const entryType = '#LogEntry.v1_21_0.LogEntry';

/**
 * The collection of a manager's logs. src/resources/systems/log-services.ts has the collection of a
 * system, which also contains logs of other features.
 */
const managerLogServices = defineResource({
  entity: 'LogServiceCollection',
  odataType: '#LogServiceCollection.LogServiceCollection',
  uri: '/redfish/v1/Managers/{managerId}/LogServices',
  load: async ({ params, services }) => loadOwner(services, params.managerId),
  canonicalParams: ({ uuid }) => ({ managerId: uuid }),
  render: (_entity, { self }) => renderCollection('Log Service Collection', [`${self}/ManagerLog`]),
});

async function loadOwner(services: Services, ownerId: string): Promise<LogEntity> {
  const { uuid } = await services.driver.getSystem(ownerId);
  return { uuid };
}

/** @throws {RedfishError} 404 for the id of another log. */
function checkId(logId: string, { id }: LogDefinition): void {
  if (logId !== id) throw redfishError('ResourceNotFound', 'LogService', logId);
}

function logService(definition: LogDefinition) {
  const { collectionUri, id, name, purposes, log } = definition;
  return defineResource({
    entity: 'LogService',
    odataType: '#LogService.v1_9_0.LogService',
    uri: `${collectionUri}/{logId}` as const,
    load: ({ params, services }) => {
      checkId(params.logId, definition);
      return loadOwner(services, params.ownerId);
    },
    canonicalParams: ({ uuid }, params) => ({ ...params, ownerId: uuid }),
    volatile: ({ now }) => dateTime(now()),
    render: (_entity, { self, services }): JsonObject => ({
      ...logServiceBase(self),
      Id: id,
      Name: name,
      LogEntryType: 'Event',
      LogPurposes: purposes,
      MaxNumberOfRecords: services.logs.limit,
    }),
    actions: {
      '#LogService.ClearLog': {
        body: z.strictObject({}),
        bodyOptional: true,
        run: async ({ uuid }, _body, { services }) => {
          await log(services, uuid).clear();
          return undefined;
        },
      },
    },
  });
}

function logEntries(definition: LogDefinition) {
  const { collectionUri, log } = definition;
  return defineResource({
    entity: 'LogEntryCollection',
    odataType: '#LogEntryCollection.LogEntryCollection',
    uri: `${collectionUri}/{logId}/Entries` as const,
    load: async ({ params, services }) => {
      checkId(params.logId, definition);
      const { uuid } = await loadOwner(services, params.ownerId);
      return listed(uuid, await log(services, uuid).read());
    },
    canonicalParams: ({ uuid }, params) => ({ ...params, ownerId: uuid }),
    // Contains expanded entries instead of links, as the schema requires (OData.AutoExpand). Clients rely on this.
    render: ({ records }, { self }): JsonObject => ({
      Name: 'Log Entry Collection',
      'Members@odata.count': records.length,
      Members: records.map((record) => ({
        ...reference(`${self}/${record.id}`),
        '@odata.type': entryType,
        ...renderEntry(record),
      })),
    }),
  });
}

function logEntry(definition: LogDefinition) {
  const { collectionUri, log } = definition;
  return defineResource({
    entity: 'LogEntry',
    odataType: entryType,
    uri: `${collectionUri}/{logId}/Entries/{entryId}` as const,
    load: async ({ params, services }) => {
      checkId(params.logId, definition);
      const { uuid } = await loadOwner(services, params.ownerId);
      const records = await log(services, uuid).read();
      // Searches by id, not by index: the log drops its oldest entries, and damaged entries leave gaps between ids.
      const found = records.find((record) => String(record.id) === params.entryId);
      if (found === undefined) throw redfishError('ResourceNotFound', 'LogEntry', params.entryId);
      return entryOf(uuid, found);
    },
    canonicalParams: ({ uuid }, params) => ({ ...params, ownerId: uuid }),
    render: ({ record }) => renderEntry(record),
  });
}

/** Caches entities by their records, so that unchanged records are rendered once. */
const lists = new WeakMap<readonly LogRecord[], { readonly uuid: string; readonly records: readonly LogRecord[] }>();
const singles = new WeakMap<LogRecord, { readonly uuid: string; readonly record: LogRecord }>();

/**
 * Returns the entity of a list. All managers share one log, so a cached entity is used only for its own
 * machine.
 */
function listed(uuid: string, records: readonly LogRecord[]) {
  const known = lists.get(records);
  if (known?.uuid === uuid) return known;
  const made = { uuid, records };
  lists.set(records, made);
  return made;
}

function entryOf(uuid: string, record: LogRecord) {
  const known = singles.get(record);
  if (known?.uuid === uuid) return known;
  const made = { uuid, record };
  singles.set(record, made);
  return made;
}

function renderEntry({ id, time, messageId, args, severity, message, origin, actor }: LogRecord): JsonObject {
  const link = permanentOrigin(origin);
  return {
    Id: String(id),
    Name: `Log Entry ${id}`,
    EntryType: 'Event',
    Created: time,
    Severity: severity,
    Message: message,
    MessageId: messageId,
    MessageArgs: args,
    OriginatorType: actor === undefined ? 'Internal' : 'Client',
    ...(actor === undefined ? {} : { OriginAddress: originAddress(actor.address) }),
    ...(typeof actor?.user === 'string' ? { Username: actor.user } : {}),
    ...(link === null ? {} : { Links: { OriginOfCondition: reference(link) } }),
  };
}

const temporaryResource =
  /\/(?:Sessions|Tasks|Subscriptions|Accounts|Roles|Volumes|Drives|Certificates|BootOptions|Storage|Members)\/[^/]+$/;

/**
 * Returns the origin for the link; null for an empty origin, and for a temporary resource, because the log
 * entry exists longer.
 */
function permanentOrigin(origin: string): string | null {
  return origin === '' || temporaryResource.test(origin) ? null : origin;
}

/** The log services of systems and managers, and their entries. */
export const logServiceResources = [
  managerLogServices,
  ...logDefinitions.flatMap((definition) => [logService(definition), logEntries(definition), logEntry(definition)]),
];
