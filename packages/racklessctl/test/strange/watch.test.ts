/** Tests `racklessctl watch` with services that behave differently from bmc-daemon. */
import { describe, expect, it } from '@jest/globals';
import { commandFixture } from '../support/command.js';
import { oneMachine, sendJson, type ScriptedAnswer, scriptedServices } from '../support/scripted-service.js';

const { run, start } = commandFixture();
const serve = scriptedServices();

const uri = '/redfish/v1/Systems/System.Embedded.1';
const withEvents = (stream: ScriptedAnswer): Record<string, ScriptedAnswer> => ({
  ...oneMachine({}, { EventService: { '@odata.id': '/redfish/v1/EventService' } }),
  'GET /redfish/v1/EventService': { ServerSentEventUri: '/sse' },
  'GET /sse': stream,
});
const eventOf = (id: string, Message: string): string =>
  `id: ${id}\ndata: ${JSON.stringify({ Events: [{ EventTimestamp: 'now', Message, OriginOfCondition: { '@odata.id': `${uri}/x` } }] })}\n\n`;

/** Answers of a service with one machine. Its root links to an event service and to sessions. */
const rootWithSessions = oneMachine(
  {},
  { EventService: { '@odata.id': '/redfish/v1/EventService' }, Links: { Sessions: { '@odata.id': '/sessions' } } },
);

describe('watch', () => {
  it('connects again after an interruption, with the id of the last event', async () => {
    const ids: unknown[] = [];
    const service = await serve(
      withEvents((request, response) => {
        ids.push(request.headers['last-event-id']);
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        response.write(
          `retry: 100\n: a comment\n\ndata: no JSON\n\n${eventOf(`e${ids.length}`, `event ${ids.length}`)}`,
        );
        if (ids.length === 1) response.end();
        if (ids.length === 2) response.write('data: {"Events"', () => response.destroy());
      }),
    );
    const { code, stdout, stderr } = await run(['watch', '--count', '3', '--url', service.url]);
    expect({ code, stdout: stdout.replace(/ +/g, ' ').split('\n'), ids }).toEqual({
      code: 0,
      stdout: [1, 2, 3].map((number) => `now - System: event ${number}`).concat(''),
      ids: [undefined, 'e1', 'e2'],
    });
    expect(stderr.match(/connecting again/g)).toHaveLength(2);
  });

  it('shows an event of a shared chassis with the URI of the chassis, whichever of its machines is watched', async () => {
    const links = { Links: { Chassis: [{ '@odata.id': '/redfish/v1/Chassis/kvm-1' }] } };
    const other = '/redfish/v1/Systems/b';
    const Message = 'The host does not answer.';
    const service = await serve({
      ...withEvents((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const record = { EventTimestamp: 'now', Message, OriginOfCondition: links.Links.Chassis[0] };
        response.write(`data: ${JSON.stringify({ Events: [record] })}\n\n`);
      }),
      'GET /redfish/v1/Systems': { Members: [{ '@odata.id': uri }, { '@odata.id': other }] },
      [`GET ${uri}`]: { '@odata.id': uri, Id: 'a', Name: 'a', ...links },
      [`GET ${other}`]: { '@odata.id': other, Id: 'b', Name: 'b', ...links },
    });
    for (const name of ['a', 'b']) {
      const { stdout } = await run(['watch', name, '--count', '1', '--url', service.url]);
      expect(stdout.replace(/ +/g, ' ')).toBe('now - /redfish/v1/Chassis/kvm-1: The host does not answer.\n');
    }
  });

  it('logs in again if the service has forgotten the session', async () => {
    const tokens: unknown[] = [];
    const service = await serve({
      ...withEvents((request, response) => {
        const token = request.headers['x-auth-token'];
        tokens.push(token);
        if (tokens.length === 2) {
          response.writeHead(401).end();
          return;
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`retry: 100\n${eventOf(`e${tokens.length}`, `event ${tokens.length}`)}`);
      }),
      ...rootWithSessions,
      'POST /sessions': (_, response) => {
        const number = service.lines.filter((line) => line === 'POST /sessions').length;
        sendJson(response, 201, {}, { 'x-auth-token': `t${number}`, location: `/sessions/${number}` });
      },
    });
    const account = { RACKLESSCTL_USER: 'root', RACKLESSCTL_PASSWORD: 'calvin' };
    const { code, stdout } = await run(['watch', '-n', '2', '--url', service.url], account);
    expect({ code, tokens }).toEqual({ code: 0, tokens: ['t1', 't1', 't2'] });
    expect(stdout).toMatch(/event 1\n.*event 3\n$/);
    expect(service.lines.at(-1)).toBe('DELETE /sessions/2');
  });

  it('reports only the broken connection if the service answers 401 when the command connects again', async () => {
    let streams = 0;
    const service = await serve({
      ...withEvents((_, response) => {
        streams += 1;
        if (streams === 2) {
          response.writeHead(401).end();
          return;
        }
        const retry = streams === 1 ? 'retry: 100\n' : '';
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`${retry}${eventOf(`e${streams}`, `event ${streams}`)}`, () => {
          if (streams === 1) response.destroy();
        });
      }),
      ...rootWithSessions,
      'POST /sessions': (_, response) => sendJson(response, 201, {}, { 'x-auth-token': 't', location: '/sessions/1' }),
    });
    const account = { RACKLESSCTL_USER: 'root', RACKLESSCTL_PASSWORD: 'calvin' };
    const { code, stderr } = await run(['watch', '-n', '2', '--url', service.url], account);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'racklessctl: the connection to the service broke; connecting again\n',
    });
  });

  it('tries to log in again even if the service does not answer the first new login', async () => {
    const tokens: unknown[] = [];
    const service = await serve({
      ...withEvents((request, response) => {
        const token = request.headers['x-auth-token'];
        tokens.push(token);
        if (tokens.length === 2 || tokens.length === 3) {
          response.writeHead(401).end();
          return;
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`retry: 100\n${eventOf(`e${tokens.length}`, `event ${tokens.length}`)}`);
      }),
      ...rootWithSessions,
      'POST /sessions': (_, response) => {
        const number = service.lines.filter((line) => line === 'POST /sessions').length;
        // The second login fails, as at a service that is starting.
        if (number === 2) response.destroy();
        else sendJson(response, 201, {}, { 'x-auth-token': `t${number}`, location: `/sessions/${number}` });
      },
    });
    const account = { RACKLESSCTL_USER: 'root', RACKLESSCTL_PASSWORD: 'calvin' };
    const { code } = await run(['watch', '-n', '2', '--url', service.url], account);
    expect({ code, tokens }).toEqual({ code: 0, tokens: ['t1', 't1', undefined, 't3'] });
  });

  it('shows the events of new machines with their names', async () => {
    const old = '/redfish/v1/Systems/System.Embedded.1';
    const added = '/redfish/v1/Systems/added';
    let lists = 0;
    const eventOfAdded = `id: 1\ndata: ${JSON.stringify({
      Events: [{ EventTimestamp: 'now', Message: 'hello', OriginOfCondition: { '@odata.id': added } }],
    })}\n\n`;
    const service = await serve({
      ...withEvents((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(eventOfAdded);
      }),
      'GET /redfish/v1/Systems': (_, response) => {
        lists += 1;
        const links = [old, ...(lists > 1 ? [added] : [])];
        sendJson(response, 200, { Members: links.map((link) => ({ '@odata.id': link })) });
      },
      [`GET ${added}`]: { '@odata.id': added, Id: 'added', Name: 'System-2' },
    });
    const { code, stdout } = await run(['watch', 'System*', '-n', '1', '--url', service.url]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/System-2: hello\n$/) });
  });

  it('polls the machines if the service has no stream, and shows their changes', async () => {
    const system = { '@odata.id': uri, Id: 'System.Embedded.1', Name: 'System' };
    let reads = 0;
    const service = await serve({
      ...oneMachine(),
      [`GET ${uri}`]: (_, response) => {
        reads += 1;
        sendJson(response, 200, { ...system, PowerState: reads < 3 ? 'Off' : 'On' });
      },
    });
    const { code, stdout, stderr } = await run(['watch', '-n', '1', '--interval', '0.1', '--url', service.url]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/System: power state: Off → On\n$/) });
    expect(stderr).toBe(`racklessctl: ${service.url} has no stream of events: reading its machines again and again\n`);
  });

  it('says that there is no stream if the URI of the stream answers with JSON instead', async () => {
    const service = await serve(withEvents({ a: 1 }));
    const watching = start(['watch', '--url', service.url]);
    await watching.waitForOutput('has no stream of events');
    watching.child.kill('SIGTERM');
    expect(await watching.waitForExit()).toMatchObject({ code: 130 });
  });

  it('ends with exit code 75 if the stream never answers', async () => {
    const service = await serve(withEvents(() => undefined));
    const { code, stderr } = await run(['watch', '--timeout', '3', '--url', service.url]);
    expect({ code, stderr }).toEqual({
      code: 75,
      stderr: `racklessctl: GET ${service.url}/sse: there is no answer after 3 s\n`,
    });
  });

  it('connects again if a reconnect gets no answer', async () => {
    let streams = 0;
    const service = await serve(
      withEvents((_, response) => {
        streams += 1;
        if (streams === 2) return;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`retry: 100\n${eventOf(`e${streams}`, `event ${streams}`)}`);
      }),
    );
    const { code, stdout, stderr } = await run(['watch', '-n', '2', '--timeout', '3', '--url', service.url]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/event 1\n.*event 3\n$/) });
    expect(stderr).toContain('there is no answer after 3 s; connecting again');
  });

  it('does not apply --timeout to an open stream', async () => {
    const service = await serve(
      withEvents((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        // The service sends the event only after the time limit for the headers.
        setTimeout(() => response.write(eventOf('e1', 'a late event')), 3500);
      }),
    );
    const { code, stdout, stderr } = await run(['watch', '-n', '1', '--timeout', '3', '--url', service.url]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.stringMatching(/a late event\n$/), stderr: '' });
  });

  it('connects again if an event is too large', async () => {
    const service = await serve(
      withEvents((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const chunk = 'x'.repeat(1024 * 1024);
        const fill = (): void => {
          if (!response.destroyed) response.write(chunk, fill);
        };
        response.write('data: ', fill);
      }),
    );
    const watching = start(['watch', '--url', service.url]);
    await watching.waitForOutput('an event is too large; connecting again');
    watching.child.kill('SIGINT');
    expect(await watching.waitForExit()).toMatchObject({ code: 130 });
  });
});
