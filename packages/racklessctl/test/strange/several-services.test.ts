/** Commands for machines with the same name, and for several services, of which some fail. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { commandFixture } from '../support/command.js';
import { oneMachine, sendJson, scriptedServices, type ScriptedAnswer } from '../support/scripted-service.js';

const { run, write } = commandFixture();
const serve = scriptedServices();

const uri = '/redfish/v1/Systems/System.Embedded.1';
const uuid = '3a1d7f0e-8c5b-4f7e-9d61-0c2f5a9b7e44';
const fails: ScriptedAnswer = (_, response) => sendJson(response, 500, { error: { message: 'out of order' } });

/** Writes contexts with these URLs. Further keys may follow a URL. @returns the options that select all contexts. */
function contexts(entries: Readonly<Record<string, string>>): readonly string[] {
  const lines = Object.entries(entries).map(([name, rest]) => `  ${name}: {url: ${rest}}`);
  return ['--context', '*', '--config', write('contexts.yaml', `contexts:\n${lines.join('\n')}\n`)];
}

let unreachable: string;
beforeEach(async () => {
  const service = await serve({});
  unreachable = service.url;
  await service.close();
});

describe('a name that several machines have', () => {
  const machine = (id: string, chassis: readonly string[]) => ({
    '@odata.id': `/redfish/v1/Systems/${id}`,
    Id: id,
    Name: 'node',
    PowerState: 'Off',
    Links: { Chassis: chassis.map((each) => ({ '@odata.id': `/redfish/v1/Chassis/${each}` })) },
    Actions: { '#ComputerSystem.Reset': { target: `/redfish/v1/Systems/${id}/Actions/ComputerSystem.Reset` } },
  });
  /** Serves two machines with the same name. @param chassis the chassis of each machine. */
  const twins = (chassis: readonly [readonly string[], readonly string[]] = [[], []]) =>
    serve({
      ...oneMachine(),
      'GET /redfish/v1/Systems': { Members: ['a', 'b'].map((id) => ({ '@odata.id': `/redfish/v1/Systems/${id}` })) },
      'GET /redfish/v1/Systems/a': machine('a', chassis[0]),
      'GET /redfish/v1/Systems/b': machine('b', chassis[1]),
      ...Object.fromEntries(
        ['a', 'b'].map((id) => [`POST /redfish/v1/Systems/${id}/Actions/ComputerSystem.Reset`, {}]),
      ),
    });
  const hosts = () =>
    twins([
      ['a', 'kvm-1'],
      ['b', 'kvm-2'],
    ]);

  it('is rejected with the ids of these machines', async () => {
    const { code, stderr } = await run(['power', 'on', 'node', '--url', (await twins()).url]);
    expect({ code, stderr }).toEqual({
      code: 66,
      stderr: "racklessctl: 'node' matches 2 machines: a (node), b (node). Name one of them, or use 'node*'\n",
    });
  });

  it('is listed with the chassis, which is the host of a virtual machine', async () => {
    const { stdout } = await run(['list', '--url', (await hosts()).url]);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
      ['NAME', 'CHASSIS', 'POWER'],
      ['node', 'kvm-1', 'Off'],
      ['node', 'kvm-2', 'Off'],
      [''],
    ]);
    expect((await run(['list', '--url', (await serve(oneMachine())).url])).stdout).not.toContain('CHASSIS');
  });

  it('is followed by the chassis in results, or by the id if the chassis is the same', async () => {
    const power = async (url: string): Promise<string> => (await run(['power', 'on', 'node*', '--url', url])).stdout;
    const lines = async (url: string): Promise<readonly string[]> => (await power(url)).trim().split('\n').sort();
    expect(await lines((await hosts()).url)).toEqual(['node (kvm-1): on', 'node (kvm-2): on']);
    expect(await lines((await twins([['rack'], ['rack']])).url)).toEqual(['node (a): on', 'node (b): on']);
  });

  it('is rejected with the chassis of these machines', async () => {
    const { stderr } = await run(['power', 'on', 'node', '--url', (await hosts()).url]);
    expect(stderr).toContain("'node' matches 2 machines: a (node, kvm-1), b (node, kvm-2). Name one");
  });

  it('is rejected with the contexts of these machines', async () => {
    const options = contexts({ one: (await serve(oneMachine({ Name: 'node' }))).url, two: (await twins()).url });
    const { stderr } = await run(['power', 'on', 'node', ...options]);
    expect(stderr).toContain('(node in one), a (node in two), b (node in two). Name');
  });
});

describe('if one of several services fails', () => {
  it('a command works with the other services, and ends with the exit code of the failure', async () => {
    const [first, third] = await Promise.all(['one', 'three'].map((Name) => serve(oneMachine({ Name }))));
    const options = contexts({ a: first?.url ?? '', b: unreachable, c: third?.url ?? '' });
    const { code, stdout, stderr } = await run(['list', ...options]);
    expect({ code, names: stdout.match(/^. +(one|three)/gm), stderr }).toEqual({
      code: 69,
      names: [expect.stringMatching(/^a .*one$/), expect.stringMatching(/^c .*three$/)],
      stderr:
        `racklessctl: context b: GET ${unreachable}/redfish/v1/: ` +
        'the host rejected the connection: nothing listens at this address\n',
    });
  });

  it('different failures have the exit code 1', async () => {
    const services = [await serve(oneMachine()), await serve({ ...oneMachine(), 'GET /redfish/v1/Systems': fails })];
    const [good = '', bad = ''] = services.map(({ url }) => url);
    const { code, stdout, stderr } = await run(['power', 'status', '-a', ...contexts({ good, bad, unreachable })]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/^System +Off$/m) });
    expect(stderr).toContain('racklessctl: context bad: reading /redfish/v1/Systems: ');
    expect(stderr).toContain('racklessctl: context unreachable: ');
  });

  it('a password-command that fails concerns only its service', async () => {
    const service = await serve(oneMachine());
    const options = contexts({
      good: service.url,
      bad: `${service.url}, user: root, password-command: 'exit 3'`,
    });
    const { code, stdout, stderr } = await run(['list', ...options]);
    expect({ code, stdout, stderr }).toEqual({
      code: 78,
      stdout: expect.stringMatching(/^System +Off/m),
      stderr: 'racklessctl: context bad: password-command failed with exit code 3\n',
    });
  });

  it('watch shows the events of the other services', async () => {
    const event = { Events: [{ EventTimestamp: 'now', Message: 'hello', OriginOfCondition: { '@odata.id': uri } }] };
    const service = await serve({
      ...oneMachine({}, { EventService: { '@odata.id': '/redfish/v1/EventService' } }),
      'GET /redfish/v1/EventService': { ServerSentEventUri: '/sse' },
      'GET /sse': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify(event)}\n\n`);
      },
    });
    const denying = await serve({
      ...oneMachine({}, { EventService: { '@odata.id': '/redfish/v1/EventService' } }),
      'GET /redfish/v1/EventService': { ServerSentEventUri: '/sse' },
      'GET /sse': (_, response) => void response.writeHead(403).end(),
    });
    const options = contexts({ good: service.url, unreachable, denied: denying.url });
    const { code, stdout, stderr } = await run(['watch', '--count', '1', ...options]);
    expect({ code, stdout }).toEqual({
      code: expect.any(Number),
      stdout: expect.stringContaining('good/System: hello'),
    });
    expect(code).not.toBe(0);
    expect(stderr).toContain('racklessctl: context unreachable: ');
  });

  it('console works for a machine of another service', async () => {
    const service = await serve(oneMachine({ UUID: uuid, SerialConsole: { SSH: { ServiceEnabled: true } } }));
    const { code, stdout } = await run(['console', uuid, '--print', ...contexts({ good: service.url, unreachable })]);
    expect({ code, stdout }).toEqual({ code: 69, stdout: 'ssh -t -p 22 -- 127.0.0.1\n' });
  });

  describe('power', () => {
    const reset = { target: '/reset', 'ResetType@Redfish.AllowableValues': ['ForceOff'] };
    const machine = { Name: 'web-10', UUID: uuid, PowerState: 'On', Actions: { '#ComputerSystem.Reset': reset } };
    const answers503: ScriptedAnswer = (_, response) => sendJson(response, 503, {}, { 'retry-after': '30' });
    const others: readonly [string, () => Promise<string>, RegExp][] = [
      ['is unreachable', () => Promise.resolve(unreachable), /these contexts failed: bad/],
      [
        'does not return its machine',
        async () => (await serve({ ...oneMachine(), [`GET ${uri}`]: answers503 })).url,
        /1 machine could not be read/,
      ],
    ];

    describe.each(others)('if the other service %s', (_, other, reason) => {
      it.each(['web-1', 'web-10', 'System.Embedded.1'])('does not act by the name or id %s', async (name) => {
        const service = await serve({ ...oneMachine(machine), 'POST /reset': {} });
        const options = contexts({ good: service.url, bad: await other() });
        const { code, stdout, stderr } = await run(['power', 'force-off', name, ...options]);
        expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(reason) });
        expect(service.lines).not.toContain('POST /reset');
      });

      it('acts on a machine by its UUID', async () => {
        const service = await serve({ ...oneMachine(machine), 'POST /reset': {} });
        const options = contexts({ good: service.url, bad: await other() });
        expect(await run(['power', 'force-off', uuid, ...options])).toMatchObject({ stdout: 'web-10: off\n' });
        expect(service.lines).toContain('POST /reset');
      });
    });
  });

  it('inventory writes the machines of the other services', async () => {
    const services = [
      await serve(oneMachine({ Name: 'one' })),
      await serve({ ...oneMachine({ Name: 'two', Processors: { '@odata.id': '/cpus' } }), 'GET /cpus': fails }),
    ];
    const [good = '', bad = ''] = services.map(({ url }) => url);
    const { code, stdout, stderr } = await run(['inventory', '-f', 'ansible', ...contexts({ good, bad, unreachable })]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('one:') });
    expect(stdout).not.toContain('two');
    expect(stderr).toMatch(
      /^racklessctl: context unreachable: .*\nbad\/two: reading \/cpus: .*out of order\nracklessctl: warning: .*\n$/,
    );
  });
});

it('a command prints no result if all services fail', async () => {
  const { code, stdout, stderr } = await run(['list', ...contexts({ a: unreachable, b: unreachable })]);
  expect({ code, stdout }).toEqual({ code: 69, stdout: '' });
  expect(stderr.match(/^racklessctl: context [ab]: GET /gm)).toHaveLength(2);
});
