/**
 * Attacks with names: machines with names that are hostile to logs, pages, metrics, URIs and
 * terminals, and control characters in paths, users and headers of requests.
 */
import { root } from './tree.js';

const names = [
  'x'.repeat(10_000),
  'a\nb',
  '\r\nX-Evil: 1',
  '\u001b[31mred\u001b]0;title\u0007',
  '\u009b31m',
  '\u202eevil',
  '\u2028{"level":"error"}',
  '\u0000x',
  '__proto__',
  'constructor',
  'toString',
  '..',
  '.',
  'a/b',
  '%2e%2e%2f',
  '%00',
  'a#b?c=d',
  'Members',
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  'a"b\'c`$(id)',
  '"} 1\nevil_metric 1',
  '-rf',
];
const uuidOf = (index) => `5ac4fa6e-0000-4000-9000-${String(index).padStart(12, '0')}`;

/** Returns whether a text has C0 or C1 controls, which terminals execute. */
const hasControl = (text) => /\p{Cc}/u.test(text);
/** As hasControl, for JSON and markup, which may contain line feeds, tabs and C1 controls. */
const hasControlInAnswer = (text) => /[^\P{Cc}\n\t\u0080-\u009f]/u.test(text);

/** Checks an answer: no 5xx except 501, no header from a name, and no control except line feeds, tabs and C1. */
function checkAnswer(path, { status, headers, text }) {
  if (status >= 500 && status !== 501) throw new Error(`${path.slice(0, 200)}: ${status}`);
  if (headers['x-evil'] !== undefined) throw new Error(`${path.slice(0, 200)}: a name became a header`);
  if (hasControlInAnswer(text)) throw new Error(`${path.slice(0, 200)}: the answer has a control character`);
}

/** Checks that each line of the log is valid JSON without control characters. */
function checkLog(daemon) {
  for (const line of daemon.output.split('\n').filter((text) => text !== '')) {
    if (hasControl(line)) throw new Error(`the log has a control character: ${JSON.stringify(line.slice(0, 500))}`);
    JSON.parse(line);
  }
}

const machineAttack = {
  name: `${names.length} hostile names of machines`,
  expected:
    'no 5xx except 501; no name becomes markup, a header, a metric or a log line; controls are escaped (C1 only in the log)',
  seconds: 120,
  run: async (arena) => {
    const systems = names.map((name, index) => ({ uuid: uuidOf(index), name, nics: [] }));
    const daemon = await arena.startBmc({ settings: { EMULATOR_FAKE_SYSTEMS: systems } });
    const get = async (path) => {
      const answer = await daemon.request({ path });
      checkAnswer(path, answer);
      return answer;
    };
    for (const [index, name] of names.entries()) {
      const byUuid = await get(`${root}/Systems/${uuidOf(index)}`);
      if (byUuid.json.Name !== name) throw new Error(`machine ${index} is named ${JSON.stringify(byUuid.json.Name)}`);
      // A URI can contain the name instead of the UUID. A 200 must show this machine.
      const segment = encodeURIComponent(name).replaceAll('.', '%2E');
      const { status, json } = await get(`${root}/Systems/${segment}`);
      if (status === 200 && json.UUID !== uuidOf(index) && json.Name !== name)
        throw new Error(`the name of machine ${index} finds ${JSON.stringify(json.UUID)}`);
      const reset = { method: 'POST', path: `${root}/Systems/${uuidOf(index)}/Actions/ComputerSystem.Reset` };
      checkAnswer(reset.path, await daemon.request({ ...reset, body: { ResetType: 'On' } }));
    }
    for (const path of [`${root}/Systems?$expand=*($levels=2)`, `${root}/Managers?$expand=.`]) await get(path);
    for (const path of [`${root}/Chassis?$expand=.`, `${root}/TelemetryService/MetricReports?$expand=.`])
      await get(path);
    const page = (await get('/ui/plain')).text;
    if (/<(script|img)/i.test(page)) throw new Error('the page has the markup of a name');
    const metrics = (await get('/metrics')).text;
    if (/^evil_metric/m.test(metrics)) throw new Error('a name became a metric');
    checkLog(daemon);
  },
};

/** Sends control characters in texts of requests, because the log repeats some of these texts. */
const loggedAttack = {
  name: 'control characters in paths, users and headers of requests',
  expected: 'each GET gets 401, and every line of the log is valid JSON without a control character',
  seconds: 60,
  run: async (arena) => {
    const daemon = await arena.startBmc({ users: ['admin'] });
    const escape = '\u001b]0;title\u0007\u001b[2J';
    const user = Buffer.from(`${escape}\n{"level":"error"}:guess`).toString('base64');
    for (const headers of [
      { Authorization: `Basic ${user}` },
      { 'X-Request-Id': 'a"b' },
      { 'User-Agent': '\u009b2J' },
    ]) {
      const { status } = await daemon.request({ path: `${root}/Systems/%1b%5b2J%0a`, headers });
      if (status !== 401) throw new Error(`a request with ${JSON.stringify(headers)}: ${status}`);
    }
    const body = { UserName: `${escape}\nroot`, Password: escape };
    await daemon.request({ method: 'POST', path: `${root}/SessionService/Sessions`, body });
    checkLog(daemon);
  },
};

export const hostileNames = [machineAttack, loggedAttack];
