/** The console log of a machine, as a client reads it. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { privilegeNames, type Privilege } from '../../src/redfish/privileges.js';
import { openConsoleServices, type ConsoleRecorder } from '../../src/console/console-services.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { fullAccess } from '../../src/redfish/authenticate.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { resources } from '../../src/features.js';
import { until, type Body } from '../events/event-lab.js';
import { serve, type Client } from '../support/client.js';
import { testServices } from '../support/services.js';

const silent = { info: () => undefined, warn: () => undefined, debug: () => undefined };
/** This machine already runs when a test begins. Its port has had no output. */
const name = 'node-2';

let stateDir = '';
let driver: FakeDriver;
let consoles: ConsoleRecorder;
let client: Client;
let uuid = '';
/** Number of open connections to the serial port of this machine. */
let connections = 0;
let privileges: readonly Privilege[] = privilegeNames;

const open = async ({ isLogged = true } = {}): Promise<void> => {
  consoles = openConsoleServices({ driver, isLogged, stateDir, serviceUuid: 'test', log: silent });
  const pipeline = createPipeline({
    resources,
    services: testServices(driver, { consoleLogs: consoles.logs }),
    strict: true,
    authenticate: () => ({ ...fullAccess, user: 'rick', privileges: new Set(privileges) }),
  });
  client = await serve((request, response) => void pipeline(request, response, '1'));
  consoles.start();
};
const close = async (): Promise<void> => {
  await client.close();
  await consoles.close();
};

beforeEach(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'rackless-console-log-'));
  driver = new FakeDriver();
  ({ uuid } = await driver.getSystem(name));
  privileges = privilegeNames;
  connections = 0;
  const connect = driver.console.open.bind(driver.console);
  driver.console.open = async (id) => {
    const stream = await connect(id);
    if (id === uuid) connections += 1;
    stream.once('close', () => id === uuid && (connections -= 1));
    return stream;
  };
  await open();
});
afterEach(async () => {
  await close();
  await driver.close();
  rmSync(stateDir, { recursive: true });
});

const system = () => `/redfish/v1/Systems/${uuid}`;
const log = () => `${system()}/LogServices/ConsoleLog`;
const get = async (path: string): Promise<Body> => {
  const { status, json, text } = await client.get(path);
  expect([path, status, status === 200 ? '' : text]).toEqual([path, 200, '']);
  return json as Body; // Every resource is an object.
};
const members = async (query = ''): Promise<readonly Body[]> =>
  (await get(`${log()}/Entries${query}`))['Members'] as readonly Body[]; // The schema requires this form.
const connected = () => until('the recorder', () => connections === 1);
/** Resets the machine, and waits until the log has the last line of `count` boots. */
const boot = async (count: number): Promise<void> => {
  await connected();
  await driver.power(name, 'reset');
  await until(`boot ${count}`, async () => (await members()).filter(({ Message }) => String(Message).endsWith('login:')).length === count); // prettier-ignore
};
const lines = [`Rackless simulated firmware, machine`, 'Booting from hard disk...', `${name} login:`];

describe('the console log', () => {
  it('is a log of the machine, not of its manager', async () => {
    expect((await get(`${system()}/LogServices`))['Members']).toEqual([
      { '@odata.id': `${system()}/LogServices/EventLog` },
      { '@odata.id': log() },
    ]);
    expect(await get(log())).toEqual({
      '@odata.id': log(),
      '@odata.type': '#LogService.v1_9_0.LogService',
      '@odata.context': '/redfish/v1/$metadata#LogService.LogService',
      Id: 'ConsoleLog',
      Name: 'Console Log',
      Description: 'Output of the serial port: an entry for each boot with its text attached, and the last lines.',
      LogEntryType: 'OEM',
      LogPurposes: ['ExternalEntity', 'Diagnostic'],
      MaxNumberOfRecords: 1000,
      ServiceEnabled: true,
      OverWritePolicy: 'WrapsWhenFull',
      Persistency: true,
      DateTime: expect.stringMatching(/\+00:00$/),
      DateTimeLocalOffset: '+00:00',
      Status: { State: 'Enabled', Health: 'OK' },
      Entries: { '@odata.id': `${log()}/Entries` },
      Actions: { '#LogService.ClearLog': { target: `${log()}/Actions/LogService.ClearLog` } },
    });
    expect((await client.get(log().replace('Systems', 'Managers'))).status).toBe(404);
  });

  it('has an entry for each boot and one for each line', async () => {
    await boot(1);
    await boot(2);
    const found = await members();
    expect(found.map(({ Message }) => Message)).toEqual([
      expect.stringMatching(/^Boot 1: \d+ bytes of output on the serial port are at AdditionalDataURI\.$/),
      ...lines.map((line) => expect.stringContaining(line) as unknown),
      expect.stringMatching(/^Boot 2: /),
      ...lines.map((line) => expect.stringContaining(line) as unknown),
    ]);
    const [first, line] = found;
    const created = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;
    expect(first).toEqual({
      '@odata.id': `${log()}/Entries/1`,
      '@odata.type': '#LogEntry.v1_21_0.LogEntry',
      Id: '1',
      Name: 'Boot 1',
      EntryType: 'Oem',
      OemRecordFormat: 'Boot on a serial console',
      Created: created,
      Severity: 'OK',
      Message: expect.any(String),
      OriginatorType: 'Internal',
      AdditionalDataURI: `${log()}/Entries/1/attachment`,
      AdditionalDataSizeBytes: expect.any(Number),
      DiagnosticDataType: 'OEM',
      OEMDiagnosticDataType: 'SerialConsole',
      Links: { OriginOfCondition: { '@odata.id': system() } },
    });
    expect(line).toEqual({
      '@odata.id': `${log()}/Entries/${String(line?.['Id'])}`,
      '@odata.type': '#LogEntry.v1_21_0.LogEntry',
      Id: expect.stringMatching(/^1-\d+$/),
      Name: expect.stringMatching(/^Console Line 1-\d+$/),
      EntryType: 'Oem',
      OemRecordFormat: 'Line of a serial console',
      Created: created,
      Severity: 'OK',
      Message: `Rackless simulated firmware, machine ${uuid}`,
      OriginatorType: 'SupportingService',
    });
    for (const member of found) {
      const { '@odata.context': context, ...whole } = await get(String(member['@odata.id']));
      expect([context, whole]).toEqual(['/redfish/v1/$metadata#LogEntry.LogEntry', member]);
    }
    const part = await get(`${log()}/Entries?$skip=5&$top=2`);
    expect([part['Members'], part['Members@odata.count']]).toEqual([found.slice(5, 7), 8]);
    expect(await members("?$filter=Message+eq+'Booting+from+hard+disk...'")).toHaveLength(2);
    for (const id of ['3', '1-1', '1-', 'x', '1-9999'])
      expect([id, (await client.get(`${log()}/Entries/${id}`)).status]).toEqual([id, 404]);
  });

  it('has the whole text of a boot as an attachment, unchanged, as a file that no browser renders', async () => {
    await boot(1);
    const [{ AdditionalDataURI, AdditionalDataSizeBytes } = {}] = await members();
    const { status, headers, text } = await client.get(String(AdditionalDataURI));
    expect([status, text.length]).toEqual([200, AdditionalDataSizeBytes]);
    expect(text).toContain('\r\nBooting from hard disk...\r\n\r\nnode-2 login: ');
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': String(AdditionalDataSizeBytes),
      'content-disposition': 'attachment; filename="node-2-console-1.log"',
      'x-content-type-options': 'nosniff',
      'odata-version': '4.0',
      'cache-control': 'no-cache',
      allow: 'GET, HEAD',
    });
    const head = await client.send('HEAD', String(AdditionalDataURI));
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', headers['content-length']]);
    expect((await client.send('DELETE', String(AdditionalDataURI))).status).toBe(405);
    const [, line] = await members();
    for (const id of [line?.['Id'], '9', 'x'])
      expect([id, (await client.get(`${log()}/Entries/${String(id)}/attachment`)).status]).toEqual([id, 404]);
  });

  it('hides its entries from read-only accounts, because a console can show passwords', async () => {
    await boot(1);
    privileges = ['Login', 'ConfigureSelf'];
    expect((await client.get(log())).status).toBe(200);
    for (const path of ['Entries', 'Entries/1', 'Entries/1/attachment', 'Entries/1/']) {
      expect([path, (await client.get(`${log()}/${path}`)).status]).toEqual([path, 403]);
      const head = await client.send('HEAD', `${log()}/${path}`);
      expect([path, head.status, head.headers['content-length'] === '0' || head.text === '']).toEqual([
        path,
        403,
        true,
      ]);
    }
    const expanded = await get(`${log()}?$expand=.`);
    expect(expanded['Entries']).toMatchObject({
      '@Message.ExtendedInfo': [{ MessageId: expect.stringMatching(/InsufficientPrivilege$/) as unknown }],
    });
    expect((await client.send('POST', `${log()}/Actions/LogService.ClearLog`, { body: {} })).status).toBe(403);
    privileges = ['Login', 'ConfigureComponents', 'ConfigureSelf'];
    expect((await client.get(`${log()}/Entries/1/attachment`)).status).toBe(200);
  });

  it('is empty after a client clears it, and does not use the numbers of earlier boots again', async () => {
    await boot(1);
    expect((await client.send('POST', `${log()}/Actions/LogService.ClearLog`)).status).toBe(204);
    expect(await members()).toEqual([]);
    // The rest of the boot that ran during the clear has number 2. It prints nothing, so the log shows only boot 3.
    await boot(1);
    expect((await members()).map(({ Id }) => String(Id).split('-')[0])).toEqual(['3', '3', '3', '3']);
  });

  it('survives a restart of the service and is removed with its machine', async () => {
    await boot(1);
    const before = await members();
    await close();
    await open();
    expect(await members()).toEqual(before);
    await boot(2);
    expect((await members()).slice(0, before.length)).toEqual(before);
    const folder = join(stateDir, 'consoles-test');
    expect(readdirSync(folder)).toEqual([uuid]);
    expect(statSync(join(folder, uuid, '1', '0.log')).mode & 0o777).toBe(0o600);
    driver.undefine(uuid);
    await until('an empty folder', () => !existsSync(join(folder, uuid)));
  });

  it('does not exist if recording is off or the machine has no serial port', async () => {
    await close();
    await open({ isLogged: false });
    const expectNoConsoleLog = async () => {
      expect((await get(`${system()}/LogServices`))['Members']).toEqual([
        { '@odata.id': `${system()}/LogServices/EventLog` },
      ]);
      for (const path of ['', '/Entries', '/Entries/1', '/Entries/1/attachment'])
        expect([path, (await client.get(`${log()}${path}`)).status]).toEqual([path, 404]);
    };
    await expectNoConsoleLog();
    await close();
    await open();
    const { hasConsole, ...machine } = await driver.getSystem(name);
    expect(hasConsole).toBe(true);
    driver.undefine(uuid);
    driver.define(machine);
    await expectNoConsoleLog();
  });
});
