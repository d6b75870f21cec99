/**
 * What a machine's serial port printed, as a log: an entry for each boot, with all of its text behind it, and one for each of the
 * last lines. As OpenBMC's HostLogger has it, a line is an entry of the type `Oem` with its text as the message.
 */
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import type { Boot, ConsoleLog, ConsoleLogRecord } from '../console/console-log.js';
import { refuse } from '../redfish/errors.js';
import type { JsonObject } from '../redfish/resource.js';
import { logServiceBase } from './log-service-base.js';
import { reference } from './reference.js';
import { serviceTime } from './service-time.js';
import { defineResource, type Services } from './services.js';

const service = '/redfish/v1/Systems/{systemId}/LogServices/ConsoleLog' as const;
const entryType = '#LogEntry.v1_21_0.LogEntry';

/** Last segment of its URI. */
export const consoleLogId = 'ConsoleLog';

interface Machine {
  readonly uuid: string;
  readonly name: string;
  readonly log: ConsoleLog;
}

/** Whether a machine has such a log: it has a serial port, and what that prints is recorded. */
export function hasConsoleLog({ consoleLogs }: Services, { hasConsole }: { readonly hasConsole?: true }): boolean {
  return consoleLogs !== null && hasConsole === true;
}

async function machineOf(services: Services, systemId: string): Promise<Machine> {
  const machine = await services.driver.getSystem(systemId);
  const { consoleLogs } = services;
  if (consoleLogs === null || !hasConsoleLog(services, machine))
    throw refuse('ResourceNotFound', 'LogService', consoleLogId);
  return { uuid: machine.uuid, name: machine.name, log: consoleLogs.ofSystem(machine.uuid) };
}

const consoleLog = defineResource({
  entity: 'LogService',
  odataType: '#LogService.v1_9_0.LogService',
  uri: service,
  load: ({ params, services }) => machineOf(services, params.systemId),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  volatile: ({ now }) => ({ DateTime: serviceTime(now()) }),
  render: (_machine, { self, services }): JsonObject => ({
    ...logServiceBase(self),
    Id: consoleLogId,
    Name: 'Console Log',
    Description: 'What the serial port printed: a boot an entry, with its whole text attached, and its last lines.',
    LogEntryType: 'OEM',
    LogPurposes: ['ExternalEntity', 'Diagnostic'],
    MaxNumberOfRecords: services.consoleLogs?.limit ?? 0,
  }),
  actions: {
    '#LogService.ClearLog': {
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
  // Whole entries, as of every log (OData.AutoExpand).
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
    const record = (await machine.log.read()).find((one) => idOf(one) === entryId);
    if (record === undefined) throw refuse('ResourceNotFound', 'LogEntry', entryId);
    return { ...machine, record };
  },
  canonicalParams: ({ uuid }, params) => ({ ...params, systemId: uuid }),
  render: ({ uuid, record }, { self }) => renderEntry(uuid, self, record),
  attachment: async ({ name, log, record }, { params: { entryId } }) => {
    const bytes = record.kind === 'boot' ? await log.text(record.boot.number) : undefined;
    if (bytes === undefined) throw refuse('ResourceNotFound', 'Attachment', entryId);
    return { bytes, contentType: contentTypeOf(bytes), fileName: `${name}-console-${entryId}.log` };
  },
});

/** Kept with the records, so that what is rendered of them is, too. */
const lists = new WeakMap<readonly ConsoleLogRecord[], { uuid: string; records: readonly ConsoleLogRecord[] }>();

function listed(uuid: string, records: readonly ConsoleLogRecord[]) {
  const made = lists.get(records) ?? { uuid, records };
  lists.set(records, made);
  return made;
}

/** `7` for a boot, `7-1024` for the line that begins at that byte of it. */
function idOf(record: ConsoleLogRecord): string {
  return record.kind === 'boot' ? String(record.boot.number) : `${record.boot}-${record.line.at}`;
}

function renderEntry(uuid: string, self: string, record: ConsoleLogRecord): JsonObject {
  const Id = idOf(record);
  if (record.kind === 'boot') return { Id, ...renderBoot(uuid, self, record.boot) };
  const { time, text } = record.line;
  return {
    Id,
    Name: `Console Line ${Id}`,
    EntryType: 'Oem',
    OemRecordFormat: 'Line of a serial console',
    Created: new Date(time).toISOString(),
    Severity: 'OK',
    Message: text,
    // Firmware or an operating system.
    OriginatorType: 'SupportingService',
  };
}

function renderBoot(uuid: string, self: string, { number, began, size }: Boot): JsonObject {
  return {
    Name: `Boot ${number}`,
    EntryType: 'Oem',
    OemRecordFormat: 'Boot on a serial console',
    Created: began,
    Severity: 'OK',
    Message: `Boot ${number}: ${size} bytes on the serial port, at AdditionalDataURI.`,
    OriginatorType: 'Internal',
    AdditionalDataURI: `${self}/attachment`,
    AdditionalDataSizeBytes: size,
    DiagnosticDataType: 'OEM',
    OEMDiagnosticDataType: 'SerialConsole',
    Links: { OriginOfCondition: reference(`/redfish/v1/Systems/${uuid}`) },
  };
}

/** Text, where it is some: what was left out may have begun or ended in the middle of a character. */
function contentTypeOf(bytes: Buffer): string {
  return isUtf8(bytes) ? 'text/plain; charset=utf-8' : 'application/octet-stream';
}

/** The console log of a system, and what is in it. */
export const consoleLogResources = [consoleLog, entries, entry];
