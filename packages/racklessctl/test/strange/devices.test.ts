/** Tests boot, media and logs with services that have other URIs and rules than bmc-daemon. */
import { describe, expect, it } from '@jest/globals';
import { commandFixture } from '../support/command.js';
import { oneMachine, sendJson, type ScriptedAnswer, scriptedServices } from '../support/scripted-service.js';

const { run, json, start } = commandFixture();
const serve = scriptedServices();

const uri = '/redfish/v1/Systems/System.Embedded.1';
const bmc = '/redfish/v1/Managers/iDRAC.Embedded.1';
const managed = { Links: { ManagedBy: [{ '@odata.id': bmc }] } };
const noContent: ScriptedAnswer = (_, response) => void response.writeHead(204).end();

describe('racklessctl boot', () => {
  it('sends the ETag, after a 412 the new ETag, and after another 412 its strong form', async () => {
    const etags: unknown[] = [];
    const answers = oneMachine();
    const service = await serve({
      ...answers,
      [`GET ${uri}`]: (_, response) =>
        sendJson(response, 200, answers[`GET ${uri}`] ?? {}, { etag: etags.length === 0 ? 'W/"1"' : 'W/"2"' }),
      [`PATCH ${uri}`]: (request, response) => {
        etags.push(request.headers['if-match']);
        response.writeHead(request.headers['if-match'] === '"2"' ? 204 : 412).end();
      },
    });
    expect(await run(['boot', 'set', 'pxe', 'System', '--url', service.url])).toMatchObject({ code: 0 });
    expect(etags).toEqual(['W/"1"', 'W/"2"', '"2"']);
  });

  it('sends None as target to clear the override, if the service lists it', async () => {
    const Boot = { 'BootSourceOverrideTarget@Redfish.AllowableValues': ['None', 'Pxe'] };
    const service = await serve({ ...oneMachine({ Boot }), [`PATCH ${uri}`]: noContent });
    await run(['boot', 'clear', 'System', '--url', service.url]);
    expect(service.requests.at(-1)?.body).toEqual({
      Boot: { BootSourceOverrideEnabled: 'Disabled', BootSourceOverrideTarget: 'None' },
    });
  });
});

describe('racklessctl media', () => {
  const drive = `${bmc}/VirtualMedia/CD`;
  const withDrive = (member: object): Record<string, ScriptedAnswer> => ({
    ...oneMachine(managed),
    [`GET ${bmc}`]: { VirtualMedia: { '@odata.id': `${bmc}/VirtualMedia` } },
    [`GET ${bmc}/VirtualMedia`]: { Members: [{ '@odata.id': drive }] },
    [`GET ${drive}`]: { '@odata.id': drive, Id: 'CD', MediaTypes: ['CD', 'DVD'], Inserted: false, ...member },
  });

  it('finds the drive below the manager, and waits for the task of the service', async () => {
    const target = `${drive}/Insert`;
    const states = [{ TaskState: 'Running', PercentComplete: 40 }, { TaskState: 'Completed' }];
    const service = await serve({
      ...withDrive({ Actions: { '#VirtualMedia.InsertMedia': { target } } }),
      [`POST ${target}`]: (_, response) => sendJson(response, 202, {}, { location: '/task', 'retry-after': '0' }),
      'GET /task': (_, response) => sendJson(response, 200, states.shift() ?? {}, { 'retry-after': '0' }),
    });
    expect(await run(['media', 'insert', 'http://h/x.iso', 'sys', '--url', service.url])).toMatchObject({
      code: 0,
      stdout: 'System: inserted into CD\n',
    });
    expect(states).toEqual([]);
  });

  it('sends the parameters that an old service requires', async () => {
    const target = `${drive}/Insert`;
    const service = await serve({
      ...withDrive({ Actions: { '#VirtualMedia.InsertMedia': { target } } }),
      [`POST ${target}`]: (request, response) =>
        JSON.stringify(request.body).includes('TransferProtocolType')
          ? void response.writeHead(204).end()
          : sendJson(response, 400, { error: { message: 'The parameter TransferProtocolType is missing.' } }),
    });
    expect(await run(['media', 'insert', 'http://h/x.iso', 'sys', '--url', service.url])).toMatchObject({ code: 0 });
    expect(service.requests.at(-1)?.body).toEqual({
      ...{ Image: 'http://h/x.iso', Inserted: true, WriteProtected: true },
      ...{ TransferMethod: 'Stream', TransferProtocolType: 'HTTP' },
    });
  });

  it('sends PATCH to the drive if the drive has no actions', async () => {
    const service = await serve({ ...withDrive({}), [`PATCH ${drive}`]: noContent });
    await run(['media', 'insert', 'http://h/x.iso', 'sys', '--url', service.url]);
    expect(service.requests.at(-1)?.body).toEqual({ Image: 'http://h/x.iso', Inserted: true });
    const inserted = await serve({ ...withDrive({ Inserted: true, Image: 'x' }), [`PATCH ${drive}`]: noContent });
    await run(['media', 'eject', 'sys', '--url', inserted.url]);
    expect(inserted.requests.at(-1)?.body).toEqual({ Image: null, Inserted: false });
  });

  it('exits with 75 if a task takes too long, and says where the task is', async () => {
    const target = `${drive}/Insert`;
    const service = await serve({
      ...withDrive({ Actions: { '#VirtualMedia.InsertMedia': { target } } }),
      [`POST ${target}`]: (_, response) => sendJson(response, 202, {}, { location: '/task/9', 'retry-after': '0' }),
      'GET /task/9': (_, response) => sendJson(response, 202, {}, { 'retry-after': '0' }),
    });
    const args = ['media', 'insert', 'http://h/x.iso', 'sys', '--url', service.url];
    const late = await run([...args, '--task-timeout', '0.5']);
    expect(late).toMatchObject({ code: 75, stderr: expect.stringContaining(`${service.url}/task/9`) });
  });

  it('exits with 130 if it is interrupted while a task runs', async () => {
    const target = `${drive}/Insert`;
    const service = await serve({
      ...withDrive({ Actions: { '#VirtualMedia.InsertMedia': { target } } }),
      [`POST ${target}`]: (_, response) => {
        sendJson(response, 202, {}, { location: '/task/9', 'retry-after': '50' });
        response.once('finish', () => command.child.kill('SIGINT'));
      },
    });
    const command = start(['media', 'insert', 'http://h/x.iso', 'sys', '--url', service.url]);
    expect(await command.waitForExit()).toMatchObject({ code: 130, stderr: expect.stringContaining('interrupted') });
  });
});

describe('racklessctl log', () => {
  it('sorts the entries by time, whatever their order at the service, and follows new entries', async () => {
    const entries = [
      { '@odata.id': '/e/2', Created: '2026-01-02T00:00:00Z', Severity: 'Warning', Message: 'second\u001b[2J' },
      { '@odata.id': '/e/1', Created: '2026-01-01T00:00:00Z', MessageId: 'SYS1', MessageArgs: ['a'] },
    ];
    const service = await serve({
      ...oneMachine(managed),
      [`GET ${bmc}`]: { LogServices: { '@odata.id': '/logs' } },
      'GET /logs': { Members: [{ '@odata.id': '/logs/Sel' }] },
      'GET /logs/Sel': { '@odata.id': '/logs/Sel', Id: 'Sel', Entries: { '@odata.id': '/entries' } },
      'GET /entries': (_, response) => sendJson(response, 200, { Members: entries }),
    });
    expect(await json(['log', 'show', 'sys', '--url', service.url])).toEqual([
      { id: '/e/1', time: '2026-01-01T00:00:00Z', message: 'SYS1 a' },
      { id: '/e/2', time: '2026-01-02T00:00:00Z', severity: 'Warning', message: 'second\u001b[2J' },
    ]);
    const following = start(['log', 'show', 'sys', '-f', '--interval', '0.2', '--url', service.url]);
    await following.waitForOutput('second\\x1b[2J');
    entries.unshift({ '@odata.id': '/e/3', Created: '2026-01-03T00:00:00Z', Severity: 'OK', Message: 'third' });
    await following.waitForOutput('third');
    following.child.kill('SIGINT');
    const { code, stdout } = await following.waitForExit();
    expect({ code, lines: stdout.trim().split('\n').length }).toEqual({ code: 130, lines: 3 });
  });

  const loop = '/entries?$skip=1';
  const denied: ScriptedAnswer = (_, response) => sendJson(response, 403, { error: {} });
  it.each<[string, ScriptedAnswer, number, string]>([
    [
      'form a loop',
      { Members: [{ Id: '2', Message: 'second' }], '@odata.nextLink': loop },
      69,
      `${loop} follows itself`,
    ],
    ['end with an error', denied, 77, '403'],
  ])('shows the entries that the service returned, with a warning, if the pages %s', async (_, page, code, why) => {
    const service = await serve({
      ...oneMachine(managed),
      [`GET ${bmc}`]: { LogServices: { '@odata.id': '/logs' } },
      'GET /logs': { Members: [{ '@odata.id': '/logs/Sel' }] },
      'GET /logs/Sel': { '@odata.id': '/logs/Sel', Id: 'Sel', Entries: { '@odata.id': '/entries' } },
      'GET /entries': { Members: [{ Id: '1', Message: 'first' }], 'Members@odata.nextLink': loop },
      [`GET ${loop}`]: page,
    });
    const shown = await run(['log', 'show', 'sys', '--url', service.url]);
    expect(shown.stdout).toContain('first');
    expect(shown).toMatchObject({ code, stderr: expect.stringContaining('the log Sel is incomplete: ') });
    expect(shown.stderr).toContain(why);
    const { stdout, ...rest } = await run(['log', 'show', 'sys', '--json', '--url', service.url]);
    expect(JSON.parse(stdout)).toContainEqual({ id: '1', message: 'first' });
    expect(rest).toEqual({ code, stderr: shown.stderr });
  });
});
