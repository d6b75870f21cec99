/** Tests services with other URIs than bmc-daemon, and services with faults. */
import { describe, expect, it } from '@jest/globals';
import { commandFixture } from '../support/command.js';
import { oneMachine, sendJson, type ScriptedAnswer, scriptedServices } from '../support/scripted-service.js';

const { run, json, start } = commandFixture();
const serve = scriptedServices();

const account = { RACKLESSCTL_USER: 'root', RACKLESSCTL_PASSWORD: 'calvin' };
const withSessions = { Links: { Sessions: { '@odata.id': '/redfish/v1/Sessions' } } };

describe('a service with a fault', () => {
  it.each<[string, ScriptedAnswer, number, RegExp]>([
    [
      'HTML with 502',
      (_, response) => void response.writeHead(502).end('<html><title>Bad\nGateway!</title>'),
      1,
      /502 Bad Gateway: Bad Gateway!/,
    ],
    [
      'HTML with 200',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      69,
      /not a JSON object \(200, text\/html\)/,
    ],
    ['a list', [], 69, /not a JSON object/],
    ['an object that is no service root', {}, 69, /has no Redfish service/],
    [
      'half an answer',
      (_, response) => void response.writeHead(200, { 'content-length': 100 }).write('{"a"', () => response.destroy()),
      69,
      /the connection ended before the answer was complete|aborted/,
    ],
    ['no HTTP', (_, response) => void response.socket?.end('SSH-2.0-OpenSSH\r\n'), 69, /the answer is not HTTP/],
    [
      'a redirect to another host',
      (_, response) => void response.writeHead(301, { location: 'https://192.0.2.9/redfish/v1/' }).end(),
      69,
      /redirects to https:\/\/192\.0\.2\.9: use that address/,
    ],
    [
      'a redirect loop',
      (_, response) => void response.writeHead(302, { location: '/redfish/v1/' }).end(),
      69,
      /more than 5 redirects/,
    ],
    [
      'an unknown coding',
      (_, response) => void response.writeHead(200, { 'content-encoding': 'br' }).end('x'),
      69,
      /unknown coding br/,
    ],
  ])('is reported if it sends %s', async (_, answer, code, text) => {
    const service = await serve({ 'GET /redfish/v1/': answer });
    const finished = await run(['list', '--url', service.url]);
    expect(finished).toEqual({ code, stdout: '', stderr: expect.stringMatching(text) });
    expect(finished.stderr).toContain('racklessctl: ');
  });

  it('is reported with exit code 75 if it does not answer in time', async () => {
    const service = await serve({ 'GET /redfish/v1/': () => undefined });
    const { code, stderr } = await run(['list', '--url', service.url, '--timeout', '0.3']);
    expect({ code, stderr }).toEqual({ code: 75, stderr: expect.stringContaining('no complete answer after 0.3 s') });
  });

  it('is reported with exit code 69 if nothing listens at its address', async () => {
    const service = await serve({});
    await service.close();
    const { code, stderr } = await run(['list', '--url', service.url]);
    expect({ code, stderr }).toEqual({ code: 69, stderr: expect.stringContaining('the host rejected the connection') });
  });

  it('is reported if its pages form a loop', async () => {
    const page = { Members: [], 'Members@odata.nextLink': '/redfish/v1/Systems?$skip=1' };
    const service = await serve({
      ...oneMachine(),
      'GET /redfish/v1/Systems': page,
      'GET /redfish/v1/Systems?$skip=1': page,
    });
    const { code, stderr } = await run(['list', '--url', service.url]);
    expect({ code, stderr }).toEqual({ code: 69, stderr: expect.stringContaining('form a loop') });
  });

  it('is reported if it has an endless number of empty pages', async () => {
    let page = 0;
    const next: ScriptedAnswer = (_, response) => {
      page += 1;
      sendJson(response, 200, { Members: [], 'Members@odata.nextLink': `/redfish/v1/Systems?page=${page}` });
    };
    const service = await serve({
      ...oneMachine(),
      'GET /redfish/v1/Systems': next,
      'GET /redfish/v1/Systems?*': next,
    });
    const { code, stderr } = await run(['list', '--url', service.url]);
    expect({ code, stderr }).toEqual({ code: 69, stderr: expect.stringContaining('more than 10000 pages') });
  });

  it('is reported if it sends a collection with 400,000 members', async () => {
    const service = await serve({
      ...oneMachine(),
      'GET /redfish/v1/Systems': { Members: Array.from({ length: 400_000 }, () => ({})) },
    });
    const { code, stderr } = await run(['list', '--url', service.url]);
    expect({ code, stderr }).toEqual({ code: 69, stderr: expect.stringContaining('more than 100000 members') });
  });

  it.each(['http://[', 'javascript:x', 'mailto:root@192.0.2.1'])('is reported if it links to %s', async (link) => {
    const service = await serve(oneMachine({}, { Systems: { '@odata.id': link } }));
    const { code, stdout, stderr } = await run(['list', '--url', service.url]);
    expect({ code, stdout, stderr }).toEqual({
      code: 69,
      stdout: '',
      stderr: `racklessctl: '${link}' is not a link\n`,
    });
  });

  it('is reported if it redirects to an invalid URL', async () => {
    const service = await serve({
      'GET /redfish/v1/': (_, response) => void response.writeHead(302, { location: 'http://[' }).end(),
    });
    const { code, stderr } = await run(['list', '--url', service.url]);
    expect({ code, stderr }).toEqual({ code: 69, stderr: "racklessctl: 'http://[' is not a link\n" });
  });

  it('gets a request again after 503', async () => {
    let busy = 2;
    const answers = oneMachine();
    const service = await serve({
      ...answers,
      'GET /redfish/v1/Systems': (_, response) => {
        busy -= 1;
        if (busy >= 0) sendJson(response, 503, {}, { 'retry-after': '0' });
        else sendJson(response, 200, answers['GET /redfish/v1/Systems'] ?? {});
      },
    });
    expect(await json(['list', '--url', service.url])).toEqual([expect.objectContaining({ id: 'System.Embedded.1' })]);
  });
});

describe('a service that is always busy', () => {
  const busy = (seconds: string) =>
    serve({
      ...oneMachine(),
      'GET /redfish/v1/Systems': (_, response) => sendJson(response, 503, {}, { 'retry-after': seconds }),
    });

  it.each([
    ['gets a request again once if Retry-After is long', '30', 2],
    ['gets a request again three times if Retry-After is short', '0', 4],
    ['gets a request again only while all pauses together fit into --timeout', '0.8', 2],
  ])('%s', async (_, seconds, count) => {
    const service = await busy(seconds);
    const { code, stderr } = await run(['list', '--url', service.url, '--timeout', '1.5']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('503 Service Unavailable') });
    expect(service.lines.filter((line) => line === 'GET /redfish/v1/Systems')).toHaveLength(count);
  });
});

describe('credentials', () => {
  it.each(['session', 'basic'])('go only to the host of the URL, with the method %s', async (auth) => {
    const other = await serve({});
    const { host } = new URL(other.url);
    const links = [
      `/.//${host}/a`,
      `http://x//${host}/b`,
      `//${host}/c`,
      `\\\\${host}/d`,
      `${other.url}/e`,
      `.//${host}/f`,
    ];
    for (const link of links) {
      const service = await serve({
        ...oneMachine({}, { ...withSessions, Systems: { '@odata.id': link } }),
        'POST /redfish/v1/Sessions': (_, response) =>
          sendJson(response, 201, {}, { 'x-auth-token': 't0ken', location: link }),
      });
      await run(['list', '--url', service.url, '--auth', auth], account);
      expect(service.requests.filter(({ url }) => !url.startsWith('/redfish'))).not.toEqual([]);
    }
    expect(other.lines).toEqual([]);
  });
});

describe('enrollment files', () => {
  it.each(['@192.0.2.9/x', '//192.0.2.9/x', 'https://192.0.2.9/x', '/.//192.0.2.9/x'])(
    'do not contain the other host of a link such as %s',
    async (link) => {
      const EthernetInterfaces = { '@odata.id': '/nics' };
      const service = await serve({
        ...oneMachine(),
        'GET /redfish/v1/Systems': { Members: [{ '@odata.id': link, Name: 'x', EthernetInterfaces }] },
        'GET /nics': { Members: [{ '@odata.id': '/nics/1', MACAddress: '52:54:00:00:00:01' }] },
      });
      for (const format of ['ironic', 'metal3', 'ansible', 'maas', 'tinkerbell']) {
        const { code, stdout } = await run(['inventory', '--format', format, '--url', service.url]);
        expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringMatching(/([^/]@|\/\/)192\.0\.2\.9/) });
      }
    },
  );
});

describe('texts of a service', () => {
  it('never reach the output as control characters', async () => {
    const Name = 'evil\u001b]52;c;AAAA\u0007\r\u009b2J\u202eabc\u2028\ud800';
    const service = await serve(oneMachine({ Name, Model: 'a\nb\u001b[31m' }));
    const unsafe = /[^\P{Cc}\n]|[\u202a-\u202e\u2028]|\p{Cs}/u;
    for (const args of [['list'], ['list', '--json'], ['power', 'on', '--all'], ['list', 'nowhere']]) {
      const { stdout, stderr } = await run([...args, '--url', service.url]);
      expect(`${stdout}${stderr}`).not.toMatch(unsafe);
    }
    expect(await json(['list', '--url', service.url])).toEqual([expect.objectContaining({ name: Name })]);
    expect((await run(['list', '--url', service.url])).stdout).toContain('evil\\x1b]52;c;AAAA\\x07 \\x9b2J\\u202eabc');
  });

  it('are printed with the property of the error', async () => {
    const target = '/redfish/v1/Systems/System.Embedded.1/Actions/ComputerSystem.Reset';
    const service = await serve({
      ...oneMachine({ Actions: { '#ComputerSystem.Reset': { target } } }),
      [`POST ${target}`]: (_, response) =>
        sendJson(response, 400, {
          error: {
            '@Message.ExtendedInfo': [
              { MessageId: 'IDRAC.2.8.SYS405', Message: 'The value is bad.', RelatedProperties: ['#/ResetType'] },
              { MessageId: 'Base.1.8.ActionParameterMissing', MessageArgs: ['Reset', 'Force'] },
            ],
          },
        }),
    });
    const { code, stderr } = await run(['power', 'on', 'sys', '--url', service.url]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'System: ResetType On: ResetType: The value is bad.; Base.1.8.ActionParameterMissing (Reset, Force)\n',
    });
  });
});

describe('racklessctl with another service', () => {
  it('reads the reset types of an ActionInfo, and sends one of them', async () => {
    const action = '/redfish/v1/Systems/System.Embedded.1/Actions/Reset';
    const service = await serve({
      ...oneMachine({
        Actions: { '#ComputerSystem.Reset': { target: action, '@Redfish.ActionInfo': '/redfish/v1/ResetInfo' } },
      }),
      'GET /redfish/v1/ResetInfo': { Parameters: [{ Name: 'ResetType', AllowableValues: ['ForceOn', 'ForceOff'] }] },
      [`POST ${action}`]: {},
    });
    expect(await run(['power', 'on', 'System', '--url', service.url])).toMatchObject({ code: 0 });
    expect(service.requests.at(-1)).toMatchObject({ url: action, body: { ResetType: 'ForceOn' } });
    const { code, stderr } = await run(['power', 'nmi', 'System', '--url', service.url]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('It supports: ForceOn, ForceOff') });
  });

  it('lists a machine despite pages, an absolute link, a member with 404, and invalid members', async () => {
    const service = await serve({
      ...oneMachine(),
      'GET /redfish/v1/Systems': {
        Members: [{ '@odata.id': 'https://bmc.internal/redfish/v1/Systems/System.Embedded.1' }],
        'Members@odata.nextLink': '/redfish/v1/Systems?page=2',
      },
      'GET /redfish/v1/Systems?page=2': { Members: [{ '@odata.id': '/redfish/v1/Systems/gone' }, 7, null, {}] },
    });
    expect(await json(['list', '--url', service.url])).toHaveLength(1);
  });

  it('lists a machine that is on two pages only once, and finds it by its name', async () => {
    const service = await serve({
      ...oneMachine(),
      'GET /redfish/v1/Systems': {
        Members: [{ '@odata.id': '/redfish/v1/Systems/1' }],
        'Members@odata.nextLink': '/redfish/v1/Systems?$skip=1',
      },
      'GET /redfish/v1/Systems?$skip=1': {
        Members: [{ '@odata.id': '/redfish/v1/Systems/1' }, { '@odata.id': '/redfish/v1/Systems/2' }],
      },
      'GET /redfish/v1/Systems/1': { '@odata.id': '/redfish/v1/Systems/1', Id: '1', Name: 'first' },
      'GET /redfish/v1/Systems/2': { '@odata.id': '/redfish/v1/Systems/2', Id: '2', Name: 'second' },
    });
    expect(await json(['list', '--url', service.url])).toMatchObject([{ name: 'first' }, { name: 'second' }]);
    expect(await run(['boot', 'show', 'first', '--url', service.url])).toMatchObject({ code: 0, stderr: '' });
  });

  it('lists machines in the order of their names, with 2 before 10', async () => {
    const names = ['kvm-1-node-10', 'kvm-2-node-1', 'kvm-1-node-2'];
    const members = names.map((name) => ({ '@odata.id': `/redfish/v1/Systems/${name}`, Name: name }));
    const service = await serve({
      ...oneMachine(),
      'GET /redfish/v1/Systems': { Members: members },
      ...Object.fromEntries(members.map((member) => [`GET ${member['@odata.id']}`, member])),
    });
    const rows = (await json(['list', '--url', service.url])) as readonly { readonly name: string }[];
    expect(rows.map(({ name }) => name)).toEqual(['kvm-1-node-2', 'kvm-1-node-10', 'kvm-2-node-1']);
  });

  it('lists the machines of a service that offers $expand but ignores it', async () => {
    const root = { ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true, Levels: true } } };
    const service = await serve(oneMachine({}, root));
    expect(await json(['list', '--url', service.url])).toHaveLength(1);
    expect(service.lines).toContain('GET /redfish/v1/Systems?$expand=.($levels=1)');
  });

  it('reads the machines in pages if the service refuses to send all of them at once', async () => {
    const root = { ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true }, TopSkipQuery: true } };
    const machine = (name: string): object => ({ '@odata.id': `/redfish/v1/Systems/${name}`, Name: name });
    const service = await serve({
      ...oneMachine({}, root),
      'GET /redfish/v1/Systems?$expand=.': (_, response) =>
        sendJson(response, 507, { error: { message: 'too large' } }),
      'GET /redfish/v1/Systems?$expand=.&$top=500': {
        Members: [machine('a')],
        'Members@odata.nextLink': '/redfish/v1/Systems?$expand=.&$top=500&$skip=500',
      },
      'GET /redfish/v1/Systems?$expand=.&$top=500&$skip=500': { Members: [machine('b')] },
    });
    const rows = (await json(['list', '--url', service.url])) as readonly { readonly name: string }[];
    expect(rows.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('reads the machines one by one if the service refuses $expand', async () => {
    const root = { ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true }, TopSkipQuery: true } };
    const service = await serve({
      ...oneMachine({}, root),
      'GET /redfish/v1/Systems?$expand=.': (_, response) => sendJson(response, 500, {}),
    });
    expect(await json(['list', '--url', service.url])).toHaveLength(1);
  });

  it('sends the password to a service without sessions', async () => {
    const service = await serve(oneMachine());
    await json(['list', '--url', service.url], account);
    expect(service.requests.at(-1)?.headers.authorization).toBe(`Basic ${btoa('root:calvin')}`);
  });

  it('deletes its session at the host of the URL, even if the session URI has another host', async () => {
    const service = await serve({
      ...oneMachine({}, withSessions),
      'POST /redfish/v1/Sessions': (_, response) =>
        sendJson(
          response,
          201,
          {},
          { 'x-auth-token': 't0ken', location: 'https://bmc.internal/redfish/v1/Sessions/7' },
        ),
      'DELETE /redfish/v1/Sessions/7': (_, response) => void response.writeHead(204).end(),
    });
    await json(['list', '--url', service.url], account);
    expect(service.lines.at(-1)).toBe('DELETE /redfish/v1/Sessions/7');
    expect(service.requests.at(-1)?.headers['x-auth-token']).toBe('t0ken');
  });

  it('waits for the task of a power action', async () => {
    const action = '/redfish/v1/Reset';
    const states = ['New', 'Running', 'Completed'];
    const service = await serve({
      ...oneMachine({ Actions: { '#ComputerSystem.Reset': { target: action } } }),
      [`POST ${action}`]: (_, response) =>
        sendJson(response, 202, {}, { location: '/redfish/v1/Task/1', 'retry-after': '0' }),
      'GET /redfish/v1/Task/1': (_, response) =>
        sendJson(response, 200, { TaskState: states.shift(), PercentComplete: 50 }, { 'retry-after': '0' }),
    });
    expect(await run(['power', 'on', 'System', '--url', service.url])).toMatchObject({
      code: 0,
      stdout: 'System: on\n',
    });
    expect(states).toEqual([]);
  });

  it('reports a task that fails', async () => {
    const action = '/redfish/v1/Reset';
    const service = await serve({
      ...oneMachine({ Actions: { '#ComputerSystem.Reset': { target: action } } }),
      [`POST ${action}`]: (_, response) =>
        sendJson(response, 202, {}, { location: '/redfish/v1/Task/1', 'retry-after': '0' }),
      'GET /redfish/v1/Task/1': { TaskState: 'Exception', Messages: [{ Message: 'The lid is open.' }] },
    });
    const { code, stderr } = await run(['power', 'on', 'System', '--url', service.url]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'System: the task ended as Exception: The lid is open.\n' });
  });
});

describe('an interrupted command', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('deletes its session, and exits with 130 (%s)', async (name) => {
    const service = await serve({
      ...oneMachine({}, withSessions),
      'POST /redfish/v1/Sessions': (_, response) =>
        sendJson(response, 201, { '@odata.id': '/redfish/v1/Sessions/8' }, { 'x-auth-token': 't0ken' }),
      // The service never answers this request: the command waits here.
      'GET /redfish/v1/Systems': () => command.child.kill(name),
      'DELETE /redfish/v1/Sessions/8': (_, response) => void response.writeHead(204).end(),
    });
    const command = start(['list', '--url', service.url], account);
    expect(await command.waitForExit()).toEqual({ code: 130, stdout: '', stderr: 'racklessctl: interrupted\n' });
    expect(service.lines.at(-1)).toBe('DELETE /redfish/v1/Sessions/8');
  });

  it('waits during a login for its session, and deletes it', async () => {
    const service = await serve({
      ...oneMachine({}, withSessions),
      'POST /redfish/v1/Sessions': (_, response) => {
        command.child.kill('SIGINT');
        // The service creates the session although the client wants to end.
        setTimeout(
          () => sendJson(response, 201, { '@odata.id': '/redfish/v1/Sessions/9' }, { 'x-auth-token': 't0ken' }),
          200,
        );
      },
      'DELETE /redfish/v1/Sessions/9': (_, response) => void response.writeHead(204).end(),
    });
    const command = start(['list', '--url', service.url], account);
    expect(await command.waitForExit()).toEqual({ code: 130, stdout: '', stderr: 'racklessctl: interrupted\n' });
    expect(service.lines.at(-1)).toBe('DELETE /redfish/v1/Sessions/9');
  });
});

describe('a closed pipe at standard error', () => {
  it('does not end the command before it has deleted its session', async () => {
    const service = await serve({
      ...oneMachine({}, withSessions),
      'POST /redfish/v1/Sessions': (_, response) =>
        sendJson(response, 201, { '@odata.id': '/redfish/v1/Sessions/8' }, { 'x-auth-token': 't0ken' }),
      'DELETE /redfish/v1/Sessions/8': (_, response) => void response.writeHead(204).end(),
    });
    const command = start(['power', 'on', '--all', '--url', service.url], account);
    command.child.stderr.destroy();
    expect((await command.waitForExit()).code).toBe(1);
    expect(service.lines.at(-1)).toBe('DELETE /redfish/v1/Sessions/8');
  });
});
