/**
 * The output of a machine's serial port as a log. Each boot is an entry with its whole stored text as
 * an attachment. Each of the last lines is an entry of type `Oem` with the line as its message, as in
 * OpenBMC's HostLogger.
 */
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import type { ConsoleLog, ConsoleLogRecord } from '../log/console-log.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { logServiceBase } from '../../resources/log-service-base.js';
import { reference } from '../../resources/reference.js';
import { dateTime } from '../../resources/service-time.js';
import { defineResource, type Services } from './services.js';

const service = '/redfish/v1/Systems/{systemId}/LogServices/ConsoleLog' as const;
const entryType = '#LogEntry.v1_21_0.LogEntry';

/** Last segment of the log's URI. */
const consoleLogId = 'ConsoleLog';

interface Machine {
  readonly uuid: string;
  readonly name: string;
  readonly log: ConsoleLog;
}

async function machineOf(services: Services, systemId: string): Promise<Machine> {
  const machine = await services.driver.getSystem(systemId);
  const { consoleLogs } = services;
  if (consoleLogs === null || (machine.hasConsole !== true && machine.hasConsoleOutput !== true))
    throw redfishError('ResourceNotFound', 'LogService', consoleLogId);
  return { uuid: machine.uuid, name: machine.name, log: consoleLogs.ofSystem(machine.uuid) };
}

const consoleLog = defineResource({
  entity: 'LogService',
  odataType: '#LogService.v1_9_0.LogService',
  uri: service,
  load: ({ params, services }) => machineOf(services, params.systemId),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  volatile: ({ now }) => dateTime(now()),
  render: (_machine, { self, services }): JsonObject => ({
    ...logServiceBase(self),
    Id: consoleLogId,
    Name: 'Console Log',
    Description: 'Output of the serial port: an entry for each boot with its text attached, and the last lines.',
    LogEntryType: 'OEM',
    LogPurposes: ['ExternalEntity', 'Diagnostic'],
    MaxNumberOfRecords: services.consoleLogs?.limit ?? 0,
  }),
  actions: {
    '#LogService.ClearLog': {
      available: (_machine, { consoleLogs }) => consoleLogs?.clearable === true,
      body: z.strictObject({}),
      bodyOptional: true,
      run: async ({ log }) => {
        await log.clear();
        return undefined;
      },
    },
  },
});

const entries = defineResource({
  entity: 'LogEntryCollection',
  odataType: '#LogEntryCollection.LogEntryCollection',
  uri: `${service}/Entries` as const,
  load: async ({ params, services }) => {
    const { uuid, log } = await machineOf(services, params.systemId);
    return listed(uuid, await log.read());
  },
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  // Members are whole entries, not references, as in every log (OData.AutoExpand).
  render: ({ uuid, records }, { self }): JsonObject => ({
    Name: 'Console Log Entry Collection',
    'Members@odata.count': records.length,
    Members: records.map((record) => {
      const uri = `${self}/${idOf(record)}`;
      return { ...reference(uri), '@odata.type': entryType, ...renderEntry(uuid, uri, record) };
    }),
  }),
});

const entry = defineResource({
  entity: 'LogEntry',
  odataType: entryType,
  uri: `${service}/Entries/{entryId}` as const,
  load: async ({ params: { systemId, entryId }, services }) => {
    const machine = await machineOf(services, systemId);
    const record = (await machine.log.read()).find((candidate) => idOf(candidate) === entryId);
    if (record === undefined) throw redfishError('ResourceNotFound', 'LogEntry', entryId);
    return { ...machine, record };
  },
  canonicalParams: ({ uuid }, params) => ({ ...params, systemId: uuid }),
  render: ({ uuid, record }, { self }) => renderEntry(uuid, self, record),
  attachment: async ({ name, log, record }, { params: { entryId } }) => {
    const bytes = record.kind === 'boot' ? await log.text(record.boot.number) : undefined;
    if (bytes === undefined) throw redfishError('ResourceNotFound', 'Attachment', entryId);
    return { bytes, contentType: contentTypeOf(bytes), fileName: `${name}-console-${entryId}.log` };
  },
});

/** Caches the entity of each record list, so that an unchanged list is rendered once. */
const lists = new WeakMap<readonly ConsoleLogRecord[], { uuid: string; records: readonly ConsoleLogRecord[] }>();

function listed(uuid: string, records: readonly ConsoleLogRecord[]) {
  const made = lists.get(records) ?? { uuid, records };
  lists.set(records, made);
  return made;
}

/** Returns the entry id: `7` for a boot, `7-1024` for the line at byte 1024 of that boot. */
function idOf(record: ConsoleLogRecord): string {
  return record.kind === 'boot' ? String(record.boot.number) : `${record.boot}-${record.line.at}`;
}

function renderEntry(uuid: string, self: string, record: ConsoleLogRecord): JsonObject {
  const Id = idOf(record);
  if (record.kind === 'boot') return { Id, ...renderBoot(uuid, self, record.boot) };
  const { line } = record;
  return {
    Id,
    Name: `Console Line ${Id}`,
    EntryType: 'Oem',
    OemRecordFormat: 'Line of a serial console',
    // If the time of a line is unknown, its entry has the time at which the service first read the line.
    Created: new Date(line.time ?? line.firstReadAt).toISOString(),
    Severity: 'OK',
    Message: line.text,
    // The text comes from the firmware or the operating system of the guest.
    OriginatorType: 'SupportingService',
  };
}

/**
 * Renders the entry of a boot. If `began` is null, the hypervisor has recorded the output. It does not
 * separate boots, so there is only one entry. The entry has the time at which the service first read the
 * output.
 */
function renderBoot(uuid: string, self: string, boot: Extract<ConsoleLogRecord, { kind: 'boot' }>['boot']): JsonObject {
  const { number, began, size } = boot;
  return {
    ...(began === null
      ? {
          Name: 'Console Output',
          OemRecordFormat: 'Last output of a serial console',
          Created: new Date(boot.firstReadAt).toISOString(),
        }
      : { Name: `Boot ${number}`, OemRecordFormat: 'Boot on a serial console', Created: began }),
    EntryType: 'Oem',
    Severity: 'OK',
    Message:
      began === null
        ? `The last ${size} bytes of output on the serial port are at AdditionalDataURI.`
        : `Boot ${number}: ${size} bytes of output on the serial port are at AdditionalDataURI.`,
    OriginatorType: 'Internal',
    AdditionalDataURI: `${self}/attachment`,
    AdditionalDataSizeBytes: size,
    DiagnosticDataType: 'OEM',
    OEMDiagnosticDataType: 'SerialConsole',
    Links: { OriginOfCondition: reference(`/redfish/v1/Systems/${uuid}`) },
  };
}

/**
 * Returns the media type. The text may begin or end within a character, so the bytes are not always
 * valid UTF-8.
 */
function contentTypeOf(bytes: Buffer): string {
  return isUtf8(bytes) ? 'text/plain; charset=utf-8' : 'application/octet-stream';
}

/** The console log of a system, its entries and their collection. */
export const consoleLogResources = [consoleLog, entries, entry];
