/** Services with machines that cannot be read, or that the service cannot reach. */
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { commandFixture, type Finished } from '../support/command.js';
import { sendJson, scriptedServices, type ScriptedAnswer, type ScriptedService } from '../support/scripted-service.js';

const { run, start, write } = commandFixture();
const serve = scriptedServices();

const answers503WithRetryAfter =
  (seconds: string): ScriptedAnswer =>
  (_, response) =>
    sendJson(response, 503, { error: { message: 'QEMU does not answer' } }, { 'retry-after': seconds });
/** An answer with a longer `Retry-After` than racklessctl waits before it repeats a request for a machine. */
const answers503 = answers503WithRetryAfter('30');
const silent: ScriptedAnswer = () => undefined;
const answers404: ScriptedAnswer = (_, response) => sendJson(response, 404, {});

const systems = '/redfish/v1/Systems';
const reasonOf = (id: string): string => `reading ${systems}/${id}: 503 Service Unavailable: QEMU does not answer`;

function machine(id: string): Readonly<Record<string, unknown>> {
  const uri = `${systems}/${id}`;
  const target = `${uri}/Actions/ComputerSystem.Reset`;
  const reset = { target, 'ResetType@Redfish.AllowableValues': ['On', 'ForceOff'] };
  return { '@odata.id': uri, Id: id, Name: id, PowerState: 'Off', Actions: { '#ComputerSystem.Reset': reset } };
}

/** Serves m-1, m-2, m-3, … with answers in place of some of them. */
async function machines(
  count: number,
  failing: Readonly<Record<string, ScriptedAnswer>>,
  other: Readonly<Record<string, unknown>> = {},
): Promise<ScriptedService> {
  const ids = Array.from({ length: count }, (_, index) => `m-${index + 1}`);
  const entries = ids.flatMap((id): [string, ScriptedAnswer][] => [
    [`GET ${systems}/${id}`, failing[id] ?? machine(id)],
    [`POST ${systems}/${id}/Actions/ComputerSystem.Reset`, {}],
  ]);
  const { root, ...answers } = other;
  return serve({
    'GET /redfish/v1/': { RedfishVersion: '1.6.0', Systems: { '@odata.id': systems }, ...(root as object) },
    [`GET ${systems}`]: { Members: ids.map((id) => ({ '@odata.id': `${systems}/${id}` })) },
    ...Object.fromEntries(entries),
    ...(answers as Readonly<Record<string, ScriptedAnswer>>),
  });
}

const namesIn = ({ stdout }: Finished): readonly string[] => [...stdout.matchAll(/^m-\d+/gm)].map(([name]) => name);

describe('list', () => {
  it('shows the other machines, and a row for each machine that answers 503', async () => {
    const service = await machines(4, { 'm-2': answers503 });
    const finished = await run(['list', '--url', service.url]);
    expect(finished).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^m-1 +Off[^]*^m-2 +\? /m),
      stderr: `racklessctl: machine m-2: ${reasonOf('m-2')}\n`,
    });
    expect([...namesIn(finished)].sort()).toEqual(['m-1', 'm-2', 'm-3', 'm-4']);
  });

  it('prints JSON with the reason for a machine that answers 503', async () => {
    const service = await machines(2, { 'm-2': answers503 });
    const { code, stdout } = await run(['list', '--json', '--url', service.url]);
    const error = reasonOf('m-2');
    expect({ code, rows: JSON.parse(stdout) as unknown }).toEqual({
      code: 1,
      rows: [
        expect.objectContaining({ name: 'm-1', power: 'Off' }),
        { name: 'm-2', id: 'm-2', uri: `${systems}/m-2`, error },
      ],
    });
  });

  it('shows the other machines if one does not answer in time', async () => {
    const service = await machines(3, { 'm-1': silent });
    const finished = await run(['list', '--url', service.url, '--timeout', '10']);
    expect(finished).toMatchObject({ code: 1, stderr: expect.stringContaining('machine m-1: GET http') });
    expect([...namesIn(finished)].sort()).toEqual(['m-1', 'm-2', 'm-3']);
  });

  it('sends at most 7 requests for 40 machines if none answers in time', async () => {
    const failing = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`m-${index + 1}`, silent]));
    const service = await machines(40, failing);
    const { code, stdout, stderr } = await run(['list', '--json', '--url', service.url, '--timeout', '3']);
    const errors = (JSON.parse(stdout) as readonly { error: string }[]).map(({ error }) => error);
    expect({ code, count: errors.length, stderr }).toEqual({
      code: 1,
      count: 40,
      stderr: expect.stringContaining('32 more machines could not be read'),
    });
    expect(errors.filter((error) => error.includes('there is no complete answer after 3 s'))).toHaveLength(40);
    // The command sends 4 at the same time; 3 more may have begun before the fourth failure.
    expect(service.lines.filter((line) => line.includes('/m-')).length).toBeLessThanOrEqual(7);
  });

  it('reads the other 34 machines if the first six do not answer in time', async () => {
    const failing = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`m-${index + 1}`, silent]));
    const service = await machines(40, failing);
    const finished = await run(['list', '--url', service.url, '--timeout', '5']);
    expect(finished.code).toBe(1);
    expect(finished.stdout.match(/^m-\d+ +\?/gm)).toHaveLength(6);
    expect(finished.stdout.match(/^m-\d+ +Off/gm)).toHaveLength(34);
  });

  it('reports a machine whose answer is not JSON', async () => {
    const html: ScriptedAnswer = (_, response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>');
    const service = await machines(2, { 'm-2': html });
    const finished = await run(['list', '--url', service.url]);
    expect({ ...finished, names: [...namesIn(finished)].sort() }).toMatchObject({
      code: 1,
      stderr: `racklessctl: machine m-2: reading ${systems}/m-2: the answer is not a JSON object (200, text/html)\n`,
      names: ['m-1', 'm-2'],
    });
  });

  it('shows the row of a machine that fails if only this machine matches a pattern', async () => {
    const service = await machines(3, { 'm-2': answers503 });
    const finished = await run(['list', 'm-2*', '--url', service.url]);
    expect({ ...finished, names: namesIn(finished) }).toMatchObject({
      code: 1,
      stderr: `racklessctl: machine m-2: ${reasonOf('m-2')}\n`,
      names: ['m-2'],
    });
  });

  it.each<[string, ScriptedAnswer]>([
    ['does not answer in time', silent],
    ['ends its connection', (_, response) => void response.destroy()],
  ])('reads the machines one by one if $expand %s', async (_, answer) => {
    const service = await machines(
      2,
      {},
      {
        root: { ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true } } },
        [`GET ${systems}?$expand=.`]: answer,
      },
    );
    const finished = await run(['list', '--url', service.url, '--timeout', '5']);
    expect({ ...finished, names: namesIn(finished) }).toMatchObject({ code: 0, stderr: '', names: ['m-1', 'm-2'] });
  });

  it('reads no machine if a page of their collection fails', async () => {
    const service = await machines(
      4,
      {},
      {
        [`GET ${systems}`]: {
          Members: [{ '@odata.id': `${systems}/m-1` }, { '@odata.id': `${systems}/m-2` }],
          'Members@odata.nextLink': `${systems}?page=2`,
        },
        [`GET ${systems}?page=2`]: {
          Members: [{ '@odata.id': `${systems}/m-3` }],
          'Members@odata.nextLink': `${systems}?page=3`,
        },
        [`GET ${systems}?page=3`]: (_: unknown, response: ServerResponse) => sendJson(response, 500, {}),
      },
    );
    const { code, stderr } = await run(['list', '--url', service.url]);
    expect({ code, stderr }).toEqual({ code: expect.any(Number), stderr: expect.stringContaining('page=3: 500') });
    expect(code).not.toBe(0);
    expect(service.lines.filter((line) => line.includes('/m-'))).toEqual([]);
  });

  it('leaves out a machine that answers 404, and does not fail', async () => {
    const service = await machines(3, { 'm-1': answers404 });
    const finished = await run(['list', '--url', service.url]);
    expect({ ...finished, names: namesIn(finished) }).toMatchObject({ code: 0, stderr: '', names: ['m-2', 'm-3'] });
  });

  it('repeats the requests for many machines with 503 only within a common time limit', async () => {
    const failing = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`m-${index + 1}`, answers503WithRetryAfter('5')]),
    );
    const service = await machines(41, failing);
    const finished = await run(['list', '--url', service.url]);
    expect(finished).toMatchObject({ code: 1, stderr: expect.stringContaining('32 more machines could not be read') });
    // Without the common limit, each machine gets 4 requests.
    expect(service.lines.filter((line) => line.includes('/m-')).length).toBeLessThan(41 + 4 * 4);
  });

  it('repeats a request for a machine if the service answers 429', async () => {
    let busy = 1;
    const limited: ScriptedAnswer = (_, response) => {
      busy -= 1;
      if (busy >= 0) sendJson(response, 429, {}, { 'retry-after': '5' });
      else sendJson(response, 200, machine('m-1'));
    };
    const service = await machines(2, { 'm-1': limited });
    expect(await run(['list', '--url', service.url, '--timeout', '8'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('reads the machines one by one if a page with $expand fails, and keeps the pages before it', async () => {
    const expand = `${systems}?$expand=.`;
    const service = await machines(
      3,
      { 'm-3': answers503 },
      {
        root: { ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true } } },
        [`GET ${expand}`]: { Members: [machine('m-1')], 'Members@odata.nextLink': `${expand}&$skip=1` },
        [`GET ${expand}&$skip=1`]: answers503,
      },
    );
    const finished = await run(['list', '--url', service.url]);
    expect({ ...finished, names: [...namesIn(finished)].sort() }).toMatchObject({
      code: 1,
      stderr: `racklessctl: machine m-3: ${reasonOf('m-3')}\n`,
      names: ['m-1', 'm-2', 'm-3'],
    });
    const count = (path: string): number => service.lines.filter((line) => line === `GET ${path}`).length;
    expect([count(`${expand}&$skip=1`), count(`${systems}/m-1`)]).toEqual([1, 0]);
  });
});

describe('power', () => {
  it('finds a machine although another one fails', async () => {
    const service = await machines(3, { 'm-2': answers503 });
    const finished = await run(['power', 'on', 'm-1', '--url', service.url]);
    expect(finished).toEqual({ code: 0, stdout: 'm-1: on\n', stderr: '' });
  });

  it('says which machines could not be read if it does not find the name', async () => {
    const service = await machines(3, { 'm-2': answers503 });
    const finished = await run(['power', 'on', 'm-2', '--url', service.url]);
    expect(finished).toEqual({
      code: 1,
      stdout: '',
      stderr:
        "racklessctl: no machine with the full name 'm-2' was found, but 1 machine could not be read: " +
        `m-2: ${reasonOf('m-2')}\n`,
    });
  });

  it('does not act on m-10 by the name m-1 if m-1 cannot be read', async () => {
    const service = await machines(10, { 'm-1': answers503 });
    const finished = await run(['power', 'force-off', 'm-1', '--url', service.url]);
    expect(finished).toMatchObject({ code: 1, stdout: '' });
    expect(service.lines.filter((line) => line.startsWith('POST'))).toEqual([]);
  });

  it('says that no machine matches a pattern if only a machine that fails may match it', async () => {
    const service = await machines(2, { 'm-2': answers503 });
    expect(await run(['power', 'on', 'm-2*', '--url', service.url])).toEqual({
      code: 1,
      stdout: '',
      stderr: "racklessctl: no machine matches 'm-2*', but 1 machine could not be read: " + `m-2: ${reasonOf('m-2')}\n`,
    });
  });

  it('acts on a machine by its full name while another machine of the service fails', async () => {
    const named: ScriptedAnswer = { ...machine('m-1'), Name: 'node-one' };
    const service = await machines(2, { 'm-1': named, 'm-2': answers503 });
    const finished = await run(['power', 'on', 'node-one', '--url', service.url]);
    expect(finished).toMatchObject({ code: 0, stdout: 'node-one: on\n' });
    const beginning = await run(['power', 'force-off', 'node', '--url', service.url]);
    expect(beginning).toMatchObject({ code: 1, stdout: '' });
    expect(service.lines.filter((line) => line.startsWith('POST'))).toHaveLength(1);
  });

  it.each([['--all'], ['m-*']])('works with the machines of %s that answer, and reports others', async (selection) => {
    const service = await machines(3, { 'm-2': answers503 });
    const { code, stdout, stderr } = await run(['power', 'on', selection, '--url', service.url]);
    expect({ code, lines: stdout.trim().split('\n').sort(), stderr }).toEqual({
      code: 1,
      lines: ['m-1: on', 'm-3: on'],
      stderr: `racklessctl: machine m-2: ${reasonOf('m-2')}\n`,
    });
  });
});

describe('inventory', () => {
  it('writes the other machines, and reports those that answer 503', async () => {
    const service = await machines(3, { 'm-2': answers503 });
    const { code, stdout, stderr } = await run(['inventory', '--format', 'ironic', '--url', service.url]);
    expect({ code, names: [...stdout.matchAll(/name: (m-\d)/g)].map(([, name]) => name), stderr }).toEqual({
      code: 1,
      names: ['m-1', 'm-3'],
      stderr: `racklessctl: machine m-2: ${reasonOf('m-2')}\n`,
    });
  });
});

describe('inventory for Tinkerbell', () => {
  const reason =
    'Tinkerbell selects a machine by its name, and a machine of the service that could not be read may have the same name';

  it.each([[[]], [['m-1']]])('leaves out a machine if one that fails may have the same name: %j', async (names) => {
    const service = await machines(2, { 'm-2': answers503 });
    const { code, stdout, stderr } = await run(['inventory', ...names, '-f', 'tinkerbell', '--url', service.url]);
    expect({ code, names: stdout.match(/systemName/g) }).toEqual({ code: 1, names: null });
    expect(stderr).toContain(`m-1: left out: ${reason}\n`);
    expect(stdout).toContain(`# Left out: m-1: ${reason}\n`);
  });

  it('includes the machines of a service whose machines all answer', async () => {
    const [failing, complete] = [await machines(2, { 'm-2': answers503 }), await machines(2, {})];
    const file = write('two.yaml', `contexts: {one: {url: '${failing.url}'}, two: {url: '${complete.url}'}}\n`);
    const { stdout } = await run(['inventory', '-f', 'tinkerbell', '-c', '*', '--config', file]);
    expect(stdout.match(/systemName: .*/g)).toEqual(['systemName: m-1', 'systemName: m-2']);
  });
});

describe('watch', () => {
  it('does not report the removal of a machine that fails for some time', async () => {
    let reads = 0;
    const sometimes: ScriptedAnswer = (request, response) => {
      reads += 1;
      if (reads === 2 && typeof answers503 === 'function') answers503(request, response);
      else sendJson(response, 200, { ...machine('m-1'), PowerState: reads > 2 ? 'On' : 'Off' });
    };
    const service = await machines(2, { 'm-1': sometimes });
    const args = ['watch', '--poll', '--interval', '0.2', '--count', '1', '--timeout', '5', '--json'];
    const { code, stdout } = await start([...args, '--url', service.url]).waitForExit();
    expect({ code, event: JSON.parse(stdout) as unknown }).toEqual({
      code: 0,
      event: expect.objectContaining({ machine: 'm-1', message: expect.stringContaining('On') }),
    });
  });

  const watchArgs = ['watch', '--poll', '--interval', '0.2', '--count', '1', '--timeout', '5', '--json'];

  it('does not report a machine as new if its first read failed', async () => {
    let reads = 0;
    const later: ScriptedAnswer = (request, response) => {
      reads += 1;
      if (reads === 1 && typeof answers503 === 'function') answers503(request, response);
      else sendJson(response, 200, { ...machine('m-1'), PowerState: reads > 3 ? 'On' : 'Off' });
    };
    const service = await machines(2, { 'm-1': later });
    const { code, stdout } = await start([...watchArgs, '--url', service.url]).waitForExit();
    expect({ code, event: JSON.parse(stdout) as unknown }).toEqual({
      code: 0,
      event: expect.objectContaining({ machine: 'm-1', message: 'power state: Off → On' }),
    });
  });

  it('says once that a machine fails after the start', async () => {
    let reads = 0;
    const sometimes: ScriptedAnswer = (request, response) => {
      reads += 1;
      if (reads > 1 && reads < 5 && typeof answers503 === 'function') answers503(request, response);
      else sendJson(response, 200, { ...machine('m-1'), PowerState: reads > 1 ? 'On' : 'Off' });
    };
    const service = await machines(2, { 'm-1': sometimes });
    const { code, stderr } = await start([...watchArgs, '--url', service.url]).waitForExit();
    expect({ code, stderr }).toEqual({ code: 0, stderr: `racklessctl: machine m-1: ${reasonOf('m-1')}\n` });
  });
});

describe('a machine that the service cannot reach', () => {
  const unavailable = (id: string): Readonly<Record<string, unknown>> => ({
    ...machine(id),
    Status: { State: 'UnavailableOffline', Health: 'Warning' },
  });
  const lastKnown = 'The service cannot reach the machine (UnavailableOffline), whose last known power state is Off.';

  it.each([[[]], [['--wait', '60']]])('is not reported as already off by power force-off %j', async (options) => {
    const path = `POST ${systems}/m-1/Actions/ComputerSystem.Reset`;
    const service = await machines(1, { 'm-1': unavailable('m-1') }, { [path]: answers503 });
    const finished = await run(['power', 'force-off', 'm-1', ...options, '--url', service.url]);
    expect(finished).toEqual({
      code: 1,
      stdout: '',
      stderr: `m-1: ResetType ForceOff: 503 Service Unavailable: QEMU does not answer. ${lastKnown}\n`,
    });
    expect(service.lines.filter((line) => line.startsWith('POST'))).toEqual([path]);
  });

  it('is not off for power force-off --wait if the service loses it after the request', async () => {
    let reads = 0;
    const lostLater: ScriptedAnswer = (_, response) => {
      reads += 1;
      sendJson(response, 200, reads === 1 ? { ...machine('m-1'), PowerState: 'On' } : unavailable('m-1'));
    };
    const service = await machines(1, { 'm-1': lostLater });
    const finished = await run(['power', 'force-off', 'm-1', '--wait', '1', '--url', service.url]);
    expect(finished).toEqual({
      code: 75,
      stdout: '',
      stderr: `m-1: the machine is unavailable after 1 s. ${lastKnown}\n`,
    });
  });

  it.each([[['power', 'status', '--all']], [['list']]])('has a marked power state in %j', async (args) => {
    const service = await machines(2, { 'm-1': unavailable('m-1') });
    const { code, stdout } = await run([...args, '--url', service.url]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^m-1 +Off \(last known\)/m) });
    expect(stdout).toMatch(/^m-2 +Off(?! \()/m);
    const json = await run([...args, '--json', '--url', service.url]);
    expect(JSON.parse(json.stdout)).toContainEqual(
      expect.objectContaining({ name: 'm-1', state: 'UnavailableOffline' }),
    );
  });
});
