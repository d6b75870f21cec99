/**
 * The log of the actions that clients of the hypervisor requested, for example Nova's instance
 * actions, and of the current failure of the machine.
 */
import type { ActionRecord } from '../../drivers/hypervisor-logs.js';
import type { MachineFault } from '../../drivers/snapshot/system-snapshot.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { logServiceBase } from '../log-service-base.js';
import { reference } from '../reference.js';
import { dateTime } from '../service-time.js';
import { defineResource, type Services } from '../services.js';

const service = '/redfish/v1/Systems/{systemId}/LogServices/ActionLog' as const;
const entryType = '#LogEntry.v1_21_0.LogEntry';
const actionLogId = 'ActionLog';
/** Id of the entry for the current failure. */
const faultId = 'Fault';

/** Returns the access to the driver's logs. @throws {RedfishError} 404 if the driver has no logs. */
function logsOf({ driver }: Pick<Services, 'driver'>) {
  if (driver.logs === undefined) throw redfishError('ResourceNotFound', 'LogService', actionLogId);
  return driver.logs;
}

const actionLog = defineResource({
  entity: 'LogService',
  odataType: '#LogService.v1_9_0.LogService',
  uri: service,
  load: async ({ params, services }) => {
    const logs = logsOf(services);
    const { uuid } = await services.driver.getSystem(params.systemId);
    return { uuid, maxRecords: logs.maxActions + 1 };
  },
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  volatile: ({ now }) => dateTime(now()),
  render: ({ maxRecords }, { self }): JsonObject => ({
    ...logServiceBase(self),
    Id: actionLogId,
    Name: 'Log of Actions',
    Description:
      'Actions that clients of the hypervisor requested, and the current failure. The hypervisor stores the log.',
    LogEntryType: 'OEM',
    LogPurposes: ['Operations'],
    MaxNumberOfRecords: maxRecords,
  }),
});

/** The entries of a machine's log: its actions, and its current failure. */
interface Log {
  readonly uuid: string;
  readonly actions: readonly ActionRecord[];
  readonly fault: MachineFault | undefined;
}

async function readLog({
  params,
  services,
}: {
  readonly params: { readonly systemId: string };
  readonly services: Services;
}): Promise<Log> {
  const logs = logsOf(services);
  const { uuid, fault } = await services.driver.getSystem(params.systemId);
  return { uuid, actions: await logs.actions(uuid), fault };
}

const entries = defineResource({
  entity: 'LogEntryCollection',
  odataType: '#LogEntryCollection.LogEntryCollection',
  uri: `${service}/Entries` as const,
  load: readLog,
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  // Expanded entries, as in every log (OData.AutoExpand).
  render: (log, { self }): JsonObject => {
    const members = renderEntries(log);
    return {
      Name: 'Action Log Entry Collection',
      'Members@odata.count': members.length,
      Members: members.map((entry) => ({ ...reference(`${self}/${entry.Id}`), '@odata.type': entryType, ...entry })),
    };
  },
});

const entry = defineResource({
  entity: 'LogEntry',
  odataType: entryType,
  uri: `${service}/Entries/{entryId}` as const,
  load: async (request) => {
    const log = await readLog(request);
    const found = renderEntries(log).find(({ Id }) => Id === request.params.entryId);
    if (found === undefined) throw redfishError('ResourceNotFound', 'LogEntry', request.params.entryId);
    return { uuid: log.uuid, rendered: found };
  },
  canonicalParams: ({ uuid }, params) => ({ ...params, systemId: uuid }),
  render: ({ rendered }) => rendered,
});

function renderEntries({ uuid, actions, fault }: Log) {
  const links = { Links: { OriginOfCondition: reference(`/redfish/v1/Systems/${uuid}`) } };
  return [
    ...actions.map((action) => ({ ...renderAction(action), ...links })),
    ...(fault === undefined ? [] : [{ ...renderFault(fault), ...links }]),
  ];
}

function renderAction({ id, action, startedAt, hasFailed, user }: ActionRecord) {
  return {
    Id: id,
    Name: `Action ${action}`,
    EntryType: 'Oem',
    OemRecordFormat: 'Action of a client of the hypervisor',
    ...(startedAt === null ? {} : { Created: startedAt.toISOString() }),
    Severity: hasFailed ? 'Warning' : 'OK',
    Message: hasFailed ? `Action ${action} failed.` : `Action ${action} was requested.`,
    OriginatorType: 'Client',
    ...(user === null ? {} : { Username: user }),
  };
}

function renderFault({ message, at }: MachineFault) {
  return {
    Id: faultId,
    Name: 'Current Failure',
    EntryType: 'Oem',
    OemRecordFormat: 'Failure that the hypervisor reports',
    ...(at === null ? {} : { Created: at.toISOString() }),
    Severity: 'Critical',
    Message: message,
    OriginatorType: 'SupportingService',
  };
}

/**
 * The log of a system's actions and its entries. Clients cannot clear it.
 * @see DSP2046, LogService, LogEntry
 */
export const actionLogResources = [actionLog, entries, entry];
