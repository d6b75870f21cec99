/** Output at a terminal, and prompts. `script` of util-linux gives the command a terminal. */
import { execFile } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { commandFixture } from '../support/command.js';
import { oneMachine, sendJson, scriptedServices } from '../support/scripted-service.js';

const { at, write } = commandFixture();
const serve = scriptedServices();

const bin = new URL('../../bin/racklessctl.js', import.meta.url).pathname;

/**
 * Runs a command in a terminal.
 * @param typed what the user types after the prompt `Password`.
 * @param columns width of the terminal.
 */
function inTerminal(
  args: string,
  typed = '',
  columns = 80,
): Promise<{ readonly code: number; readonly output: string }> {
  const line = `stty cols ${columns} rows 24 && exec '${process.execPath}' '${bin}' ${args}`;
  return new Promise((resolve) => {
    let output = '';
    const env = { PATH: process.env['PATH'] ?? '', HOME: at('.'), TERM: 'xterm' };
    const child = execFile('script', ['--quiet', '--return', '--command', line, '/dev/null'], { env }, (error) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, output }),
    );
    child.stdout?.on('data', (text: string) => {
      if (!output.includes('Password') && (output + text).includes('Password')) child.stdin?.write(typed);
      output += text;
    });
  });
}

it('a task shows a progress bar, which the result replaces', async () => {
  const target = '/reset';
  const percents = [10, 55, 90];
  const service = await serve({
    ...oneMachine({ Actions: { '#ComputerSystem.Reset': { target } } }),
    [`POST ${target}`]: (_, response) => sendJson(response, 202, {}, { location: '/task', 'retry-after': '0' }),
    'GET /task': (_, response) => {
      const PercentComplete = percents.shift();
      const TaskState = PercentComplete === undefined ? 'Completed' : 'Running\u001b[2J';
      sendJson(response, 200, { TaskState, PercentComplete }, { 'retry-after': '0' });
    },
  });
  const { code, output } = await inTerminal(`power on sys --url ${service.url}`);
  expect(code).toBe(0);
  expect(output).toContain('\r\u001b[KSystem [###########---------]  55 % Running\\x1b[2J');
  expect(output.endsWith('\r\u001b[KSystem: on\r\n')).toBe(true);
});

it('a service that is busy shows for how long the command waits', async () => {
  const answers = oneMachine();
  let busy = 1;
  const service = await serve({
    ...answers,
    'GET /redfish/v1/Systems': (_, response) => {
      busy -= 1;
      if (busy >= 0) sendJson(response, 503, {}, { 'retry-after': '2' });
      else sendJson(response, 200, answers['GET /redfish/v1/Systems'] ?? {});
    },
  });
  const { code, output } = await inTerminal(`list --url ${service.url}`);
  expect(code).toBe(0);
  const { host } = new URL(service.url);
  expect(output).toContain(`\r\u001b[K${host} is busy (503): trying again in 2 s\r\u001b[K`);
});

it('the command asks for a password, and does not show what the user types', async () => {
  const service = await serve(oneMachine());
  const { code, output } = await inTerminal(`list -u root --url ${service.url}`, 'calvin\r');
  expect(code).toBe(0);
  expect(output).toContain(`Password of root at ${service.url.replace('http://', '')}: `);
  expect(output).not.toContain('calvin');
  expect(service.requests.at(-1)?.headers.authorization).toBe(`Basic ${btoa('root:calvin')}`);
});

it('the password-command can write messages and ask questions at the terminal', async () => {
  const service = await serve(oneMachine());
  const command = `printf 'Password of the vault: ' >&2; read -r answer; echo "$answer"`;
  write(
    'contexts.yaml',
    `contexts: {lab: {url: "${service.url}", user: root, password-command: ${JSON.stringify(command)}}}`,
  );
  const { code, output } = await inTerminal(`list --config '${at('contexts.yaml')}'`, 'calvin\r');
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('Password of the vault: ') });
  expect(service.requests.at(-1)?.headers.authorization).toBe(`Basic ${btoa('root:calvin')}`);
});

it('Ctrl-C at the prompt ends the command', async () => {
  const service = await serve(oneMachine());
  const { code, output } = await inTerminal(`list -u root --url ${service.url}`, '\u0003');
  expect({ code, output }).toEqual({ code: 130, output: expect.stringContaining('no password was given') });
});

it('a table fits 80 columns; with --wide, the command prints whole texts', async () => {
  const service = await serve(oneMachine({ Name: 'n'.repeat(70), Model: 'm'.repeat(70) }));
  const { output } = await inTerminal(`list --url ${service.url}`);
  const lines = output.split('\r\n').filter((line) => line !== '');
  expect(lines.map((line) => line.length <= 80)).toEqual([true, true]);
  expect((await inTerminal(`list --wide --url ${service.url}`)).output).toContain('m'.repeat(70));
});

it('a table in 40 columns omits its last columns, and the command says so', async () => {
  const service = await serve(oneMachine({ Name: 'n'.repeat(70), Model: 'm'.repeat(70) }));
  const { output } = await inTerminal(`list --url ${service.url}`, '', 40);
  const [titles = '', row = '', ...messages] = output.split('\r\n').filter((line) => line !== '');
  expect([titles.length <= 40, row.length <= 40]).toEqual([true, true]);
  expect(titles.split(/ +/).slice(0, 3)).toEqual(['NAME', 'POWER', 'HEALTH']);
  expect(messages).toEqual(['The terminal is too narrow for MODEL: use --wide, --json or a wider terminal.']);
});
