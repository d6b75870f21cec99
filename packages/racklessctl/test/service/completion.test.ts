/** Completion in real shells, with names of a real bmc-daemon. */
import { execFileSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startBmc, type Bmc } from '../support/bmc.js';
import { commandFixture } from '../support/command.js';
import { oneMachine, ScriptedService } from '../support/scripted-service.js';

let bmc: Bmc;
beforeAll(async () => {
  bmc = await startBmc();
});
afterAll(() => bmc.close());
const { at, run, write } = commandFixture();
const services: ScriptedService[] = [];
afterEach(() => Promise.all(services.splice(0).map((service) => service.close())));

const scripts = join(import.meta.dirname, '../../completions');
const bin = join(import.meta.dirname, '../../bin/racklessctl.js');

/** Attempts of a completion. Each may take 4 s. */
const MAX_ATTEMPTS = 30;

/** Commands that print the completions of `$LINE`, one in a line. */
const programs: Readonly<Record<string, string>> = {
  bash: `. ${scripts}/racklessctl.bash
    COMP_LINE=$LINE COMP_POINT=\${#LINE}
    _racklessctl racklessctl
    printf '%s\\n' "\${COMPREPLY[@]}"`,
  // _describe shows the choices in a terminal only.
  zsh: `compdef() { }
    . ${scripts}/_racklessctl
    _describe() { print -l -- \${\${(P)2}%%:*} }
    words=(\${(z)LINE})
    [[ $LINE == *' ' ]] && words+=('')
    CURRENT=$#words
    _racklessctl`,
  fish: `. ${scripts}/racklessctl.fish
    complete --do-complete $LINE | string replace --regex '\\t.*' ''
    true`,
};

describe.each(Object.keys(programs))('%s', (shell) => {
  // scripts/test installs the shells; without them, a developer can still run the other tests.
  const program = `/usr/bin/${shell}`;
  const test = existsSync(program) || process.env['RACKLESS_REQUIRE_ALL'] === '1' ? it : it.skip;
  const candidates = (line: string): readonly string[] => {
    if (!existsSync(at('racklessctl'))) symlinkSync(bin, at('racklessctl'));
    const path = `${at('.')}:${join(process.execPath, '..')}:/usr/bin:/bin`;
    const env = { ...bmc.env, PATH: path, HOME: at('.'), TERM: 'dumb', LINE: line };
    const output = execFileSync(program, ['-c', programs[shell] ?? ''], { env, encoding: 'utf8' });
    return output.split('\n').filter((text) => text !== '');
  };

  test.each([
    ['racklessctl po', ['power']],
    ['racklessctl power o', ['on', 'off']],
    ['racklessctl power on --w', ['--wait']],
    ['racklessctl inventory --format m', ['metal3', 'maas']],
    ['racklessctl boot set uefi-', ['uefi-http', 'uefi-shell']],
    ['racklessctl power on node-', ['node-1', 'node-2', 'node-3']],
    ['racklessctl power on node-1 ', ['node-2', 'node-3']],
  ])('completes %j', (line, words) => {
    // The command offers no names if the service needs more than 4 s, so that a shell does not wait. On a busy
    // computer, this can happen to several attempts.
    let found: readonly string[] = [];
    for (let attempt = 0; attempt < MAX_ATTEMPTS && found.length === 0; attempt += 1) found = candidates(line);
    expect([...found].sort()).toEqual([...words].sort());
  });
});

describe('racklessctl completion', () => {
  it.each(['bash', 'zsh', 'fish'])('prints the script for %s', async (shell) => {
    expect(await run(['completion', shell])).toMatchObject({ code: 0, stdout: expect.stringContaining('__complete') });
  });

  it('offers contexts and options that are not yet given, and never asks for a password', async () => {
    const file = write(
      'contexts.yaml',
      'contexts:\n  lab-1: {url: "https://192.0.2.1", user: admin}\n  lab-2: {url: "https://192.0.2.2"}\n',
    );
    const env = { RACKLESSCTL_CONFIG: file };
    expect((await run(['__complete', '--', 'list', '-c', 'lab'], env)).stdout).toBe(
      'lab-1\thttps://192.0.2.1\nlab-2\thttps://192.0.2.2\n',
    );
    expect((await run(['__complete', '--', 'list', '--wide', '--w'], env)).stdout).toBe('');
    expect(await run(['__complete', '--', 'power', 'on', '-c', 'lab-1', ''], env)).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  it('never offers a name or an id of a machine that a shell would interpret', async () => {
    const service = await ScriptedService.start(oneMachine({ Name: '$(touch${IFS}x)', Id: 'a;b' }));
    services.push(service);
    const { stdout } = await run(['__complete', '--', 'power', 'on', ''], { RACKLESSCTL_URL: service.url });
    expect(stdout).toBe('');
  });

  it('offers machines with the same name by UUID, or by id without one, and the others by name', async () => {
    const members = [
      { Id: 'a', Name: 'same', UUID: '3a1d7f0e-8c5b-4f7e-9d61-0c2f5a9b7e44', PowerState: 'On' },
      { Id: 'b', Name: 'Same', PowerState: 'Off' },
      { Id: 'c', Name: 'other', PowerState: 'Off', Status: { State: 'UnavailableOffline' } },
    ].map((each) => ({ '@odata.id': `/redfish/v1/Systems/${each.Id}`, ...each }));
    const service = await ScriptedService.start({ ...oneMachine(), 'GET /redfish/v1/Systems': { Members: members } });
    services.push(service);
    const { stdout } = await run(['__complete', '--', 'power', 'on', ''], { RACKLESSCTL_URL: service.url });
    expect(stdout.trim().split('\n').sort()).toEqual([
      '3a1d7f0e-8c5b-4f7e-9d61-0c2f5a9b7e44\tOn',
      'b\tOff',
      'other\tOff (last known)',
    ]);
  });

  it('is silent if a service cannot be reached', async () => {
    const finished = await run(['__complete', '--', 'power', 'on', ''], { RACKLESSCTL_URL: 'http://127.0.0.1:1' });
    expect(finished).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});
