/**
 * Compares the tools, versions and profiles in docs/reference/conformance.md, scripts/conformance.d
 * and the nightly workflow.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const repository = join(import.meta.dirname, '../../../..');
const read = (path: string) => readFileSync(join(repository, path), 'utf8');
const page = read('docs/reference/conformance.md');
const script = read('scripts/conformance.d/run.py');
const nightly = read('.github/workflows/nightly.yml');

/** Versions by tool, from the table of the page. */
const tools = new Map(
  [...page.matchAll(/^\| (Redfish-[\w-]+)[^|]* \| ([\d.]+) \|/gm)].map(([, tool = '', version = '']) => [
    tool,
    version,
  ]),
);

describe('docs/reference/conformance.md', () => {
  it('lists the versions that the nightly workflow runs', () => {
    expect([...tools.keys()].sort()).toEqual([
      'Redfish-Interop-Validator',
      'Redfish-Protocol-Validator',
      'Redfish-Service-Validator',
      'Redfish-Use-Case-Checkers',
    ]);
    for (const [tool, version] of tools) expect(nightly).toContain(`DMTF/${tool}, ref: '${version}'`);
  });

  it('has a result for each profile that scripts/conformance runs', () => {
    const profiles = [...script.matchAll(/^ {4}\('\w+', '(\w+)', '([\d.]+)'\),$/gm)].map(([, name, version]) =>
      [name, version].join(' '),
    );
    expect(profiles).toHaveLength(3);
    for (const profile of profiles) expect(page).toContain(`| Redfish-Interop-Validator, ${profile} |`);
  });
});

describe('the nightly workflow', () => {
  const commands = [...nightly.matchAll(/run: bash scripts\/conformance (.+)$/gm)].map(([, words = '']) =>
    words.split(' '),
  );

  it('runs all tools, in memory, on guests and on OpenStack, with existing options', () => {
    const usage = read('scripts/conformance');
    const kinds = commands.map((words) => words.filter((word) => word === '--guests' || word === '--cloud'));
    expect(kinds).toEqual([[], ['--guests'], ['--cloud']]);
    for (const [folder = '', ...words] of commands) {
      expect(nightly).toContain(`path: ${folder}/Redfish-Service-Validator`);
      const options = words.filter((word) => word.startsWith('--'));
      expect(options.filter((option) => !usage.includes(`\n  ${option} `))).toEqual([]);
      expect(options).not.toContain('--tools');
    }
  });

  it('runs all clients, on guests and on OpenStack', () => {
    const clients = [...nightly.matchAll(/run: bash scripts\/clients (.+)$/gm)].map(([, words]) => words);
    expect(clients).toEqual(['--keep', '--cloud --keep']);
  });

  it('has every folder that the script searches for the tools', () => {
    const folders = [...script.matchAll(/'(Redfish-[\w-]+|python-redfish-library|HWMgmt-OCP-Profiles)[/']/g)].map(
      ([, name]) => name,
    );
    expect(new Set(folders).size).toBe(8);
    for (const name of folders) expect(nightly).toContain(`path: .cache/tools/${String(name)} `);
  });
});

describe('scripts/conformance.d/run.py', () => {
  const counts = (text: string): unknown => {
    const program =
      `import json, sys; sys.path.insert(0, 'scripts/conformance.d'); import run; ` +
      'print(json.dumps(run.read_counts(sys.stdin.read())))';
    return JSON.parse(
      execFileSync('/usr/bin/python3', ['-B', '-c', program], { cwd: repository, input: text, encoding: 'utf8' }),
    );
  };

  it.each([
    ['Summary - PASS: 375, WARN: 1, FAIL: 2, NOT_TESTED: 24\n', [375, 1, 2, 24]],
    ['\nSummary - PASS: 107, WARN: 0, FAIL: 3, NOT TESTED: 13\n', [107, 0, 3, 13]],
    [
      '+------+------+------+------------+\n| PASS | WARN | FAIL | NOT TESTED |\n' +
        '+------+------+------+------------+\n|  63  |  4   |  5   |    103     |\n',
      [63, 4, 5, 103],
    ],
    [
      '| Result     | Count |\n+----+----+\n| Pass       |   575 |\n| Fail       |     7 |\n' +
        '| Warning    |     8 |\n| Not Tested |     3 |\n',
      [575, 8, 7, 3],
    ],
    ['Traceback (most recent call last):\nValueError\n', null],
  ])('reads the numbers of pass, warn, fail and not tested, or null if there are none, in %j', (text, expected) => {
    expect(counts(text)).toEqual(expected);
  });
});
