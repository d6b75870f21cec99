/** Tests the console log, which shows the output of serial ports that Nova records. */
import { expect, it } from '@jest/globals';
import { waitFor } from '../../daemon/process.js';
import { sendJson, whenRead } from '../../support/cloud-server.js';
import { idOf } from '../../support/listed-servers.js';
import { servedCloud } from '../../support/served-cloud.js';
import type { Body } from '../../support/served-resources.js';

const cloud = servedCloud();
const system = `/redfish/v1/Systems/${idOf(1)}`;
const log = `${system}/LogServices/ConsoleLog`;
const membersOf = (body: Body) => body['Members'] as Body[]; // Every log has this list.
const requests = () => cloud.requestsTo('/compute').filter((line) => line.startsWith('POST'));

/** Sets the answer of the cloud to requests for the output. @returns the bodies of these requests. */
function answerOutput(status: number, body: unknown): string[] {
  const bodies: string[] = [];
  cloud.answer((request, response, path) => {
    if (!path.endsWith('/action')) return false;
    whenRead(request, (text) => {
      bodies.push(text);
      sendJson(response, status, body);
    });
    return true;
  });
  return bodies;
}

it('the service shows the output as an attachment of the console log, and its lines as entries', async () => {
  cloud.servers.put(1);
  const bodies = answerOutput(200, { output: 'GRUB\n\n\u001b[31mLinux\u001b[0m <b>6.1</b>\n' });
  const { get, send } = await cloud.serve();
  expect((await get(`${system}/LogServices`))['Members']).toContainEqual({ '@odata.id': log });
  expect(requests()).toEqual([]);
  const entries = membersOf(await get(`${log}/Entries`));
  expect(entries.map((entry) => [entry['Id'], entry['Message']])).toEqual([
    ['1', 'The last 32 bytes of output on the serial port are at AdditionalDataURI.'],
    ['1-0', 'GRUB'],
    ['1-6', 'Linux <b>6.1</b>'],
  ]);
  expect(bodies).toEqual([JSON.stringify({ 'os-getConsoleOutput': { length: 1000 } })]);
  expect(await get(`${log}/Entries/1-6`)).toMatchObject({ Message: 'Linux <b>6.1</b>' });
  expect((await get(log))['Actions']).toEqual({});
  expect((await send('POST', `${log}/Actions/LogService.ClearLog`, {})).status).toBe(404);
});

it('the service gives the entry of a line the time at which it first read the line', async () => {
  cloud.servers.put(1);
  let output = 'GRUB\n';
  cloud.answer((request, response, path) => {
    if (!path.endsWith('/action')) return false;
    whenRead(request, () => sendJson(response, 200, { output }));
    return true;
  });
  const { get } = await cloud.serve();
  const timesOf = async () => {
    const entries = membersOf(await get(`${log}/Entries`));
    return new Map(entries.map((entry) => [String(entry['Message']), Date.parse(String(entry['Created']))]));
  };
  const before = Date.now();
  const first = await timesOf();
  const end = Date.now();
  for (const time of first.values()) expect([time >= before, time <= end]).toEqual([true, true]);
  output += 'Linux\n';
  // The daemon reads the output from Nova at most once in a second, so the test waits for the new line.
  const second = await waitFor(
    async () => {
      const times = await timesOf();
      return times.has('Linux') ? times : undefined;
    },
    () => 'the log has no second line',
  );
  expect(second.get('GRUB')).toBe(first.get('GRUB'));
  expect(second.get('Linux')).toBeGreaterThan(end);
  expect([...second.values()][0]).toBe([...first.values()][0]);
  const [, line] = membersOf(await get(`${log}/Entries`));
  expect((await get(String(line?.['@odata.id'])))['Created']).toBe(line?.['Created']);
  // The time at which the guest printed the line is unknown.
  expect(line).not.toHaveProperty('EventTimestamp');
});

it.each<[string, number, unknown]>([
  ['that does not run', 404, { itemNotFound: { message: 'Guest does not have a console available.' } }],
  ['that was never built', 409, { conflictingRequest: { message: 'Instance is not ready' } }],
  ['without output', 200, { output: null }],
])('the service shows an empty console log for a server %s', async (_, status, body) => {
  cloud.servers.put(1);
  answerOutput(status, body);
  const { get } = await cloud.serve();
  expect(membersOf(await get(`${log}/Entries`))).toEqual([]);
});

it('the service shows only the end of an output of megabytes, within limits', async () => {
  cloud.servers.put(1);
  const line = `\u001b]0;title\u0007€\u0000\u202e${'x'.repeat(90)}\n`;
  answerOutput(200, { output: line.repeat(50_000) });
  const { get } = await cloud.serve();
  const [output, ...lines] = membersOf(await get(`${log}/Entries`));
  expect(output).toMatchObject({ AdditionalDataSizeBytes: expect.any(Number) });
  const size = Number(output?.['AdditionalDataSizeBytes']);
  expect([size <= 262_144, size > 262_000]).toEqual([true, true]);
  expect(lines).toHaveLength(999);
  expect(new Set(lines.map((entry) => entry['Message']))).toEqual(new Set([`€${'x'.repeat(90)}`]));
});

it.each<[string, number, unknown, string]>([
  ['rejects the request', 403, { forbidden: { message: 'no' } }, 'Nova answers 403: no'],
  ['answers in another form', 200, { output: 7 }, 'unexpected form'],
])('the service answers 503 for entries if Nova %s, and shows the console log', async (_, status, answer, reason) => {
  cloud.servers.put(1);
  answerOutput(status, answer);
  const { get, send } = await cloud.serve();
  const failed = await send('GET', `${log}/Entries`);
  expect([failed.status, JSON.stringify(failed.body)]).toEqual([503, expect.stringContaining(reason)]);
  expect(await get(log)).toMatchObject({ Id: 'ConsoleLog' });
});
