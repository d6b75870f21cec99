import { describe, expect, it } from '@jest/globals';
import type { SourceContext } from './expressions.js';
import { parseAssignments, parseLiteral } from './literals.js';
import { lineAt, toPlain } from './values.js';

/** Returns the value of `X = <text>`. Fails if the text has a fault. */
function read(text: string): unknown {
  const { assignments, faults } = parseAssignments(`X = ${text}\n`);
  expect(faults).toEqual([]);
  expect(assignments).toHaveLength(1);
  const [assignment] = assignments;
  return assignment === undefined ? undefined : toPlain(assignment.value);
}

/** Returns the faults of a text as `line: message`. */
function faultsOf(text: string): string[] {
  return parseAssignments(text).faults.map(({ line, message }) => `${line}: ${message}`);
}

const ONLY =
  'only literal values are read (strings, numbers, None, True, False, lists, tuples, mappings); the file is ' +
  'never executed';

describe('the reader of literals', () => {
  it.each([
    ["'a'", 'a'],
    ['"it\'s"', "it's"],
    ["u'text'", 'text'],
    ["U'text'", 'text'],
    ["r'C:\\new'", 'C:\\new'],
    ["r'a\\'b'", "a\\'b"],
    ["'''two\nlines'''", 'two\nlines'],
    ['"""a "quoted" word"""', 'a "quoted" word'],
    ["''", ''],
    ["'' 'a'", 'a'],
    ["'a' \"b\" r'\\c'", 'ab\\c'],
    ["'\\n\\t\\\\\\'\\\"\\x41\\u00e4\\U0001F600\\101\\0'", '\n\t\\\'"Aä😀A\0'],
    ["'\\d'", '\\d'],
    ["'one \\\ntwo'", 'one two'],
    ["'ä # no comment'", 'ä # no comment'],
  ])('reads the string %s', (text, value) => {
    expect(read(text)).toBe(value);
  });

  it.each([
    ['8000', 8000],
    ['-1', -1],
    ['+1', 1],
    ['- 1', -1],
    ['0', 0],
    ['00', 0],
    ['0x1F', 31],
    ['0o17', 15],
    ['0b101', 5],
    ['1_000_000', 1_000_000],
    ['1.5', 1.5],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1000],
    ['1_0.2_5e-1', 1.025],
    ['None', null],
    ['True', true],
    ['False', false],
    ['(True)', true],
    ["('a')", 'a'],
  ])('reads %s', (text, value) => {
    expect(read(text)).toEqual(value);
  });

  it.each([
    ['[]', []],
    ['()', []],
    ['{}', {}],
    ['[1, 2,]', [1, 2]],
    ["('a',)", ['a']],
    ['1, 2', [1, 2]],
    ['1,', [1]],
    ["{'a', 'b'}", ['a', 'b']],
    ["{'a': {'b': [None, (1, -2)]}, 'c': 'd' 'e',}", { a: { b: [null, [1, -2]] }, c: 'de' }],
    ["{'a': 1, 'a': 2}", { a: 2 }],
    ["{('uuid', '1'): [3], 7: 8}", { '["uuid","1"]': [3], '7': 8 }],
    ["{'__proto__': 1}", Object.fromEntries([['__proto__', 1]])],
  ])('reads the compound %s', (text, value) => {
    expect(read(text)).toEqual(value);
  });

  it('skips comments, blank lines and strings without a name, and reads continued lines', () => {
    const text = [
      '\uFEFF# -*- coding: utf-8 -*-',
      '"""A long',
      'comment"""',
      '',
      'A = 1  # one',
      'B = \\',
      '  2; C = 3',
      'D = {  # opened',
      "  'k': (",
      '',
      '# in between',
      "'v'),",
      '}',
      'E=[1,\t2]',
    ].join('\r\n');
    const { assignments, faults } = parseAssignments(text);
    expect(faults).toEqual([]);
    expect(assignments.map(({ name, line, value }) => [name, line, toPlain(value)])).toEqual([
      ['A', 5, 1],
      ['B', 6, 2],
      ['C', 7, 3],
      ['D', 8, { k: 'v' }],
      ['E', 14, [1, 2]],
    ]);
  });

  it('gives the line of each member of a value; for a missing member, the line of its nearest existing parent', () => {
    const [assignment] = parseAssignments("A = {\n 'UEFI': {\n  'x86_64': 5,\n  'a': [\n1,\n2]}}").assignments;
    expect(assignment).toBeDefined();
    if (assignment === undefined) return;
    expect(lineAt(assignment.value, [])).toBe(1);
    expect(lineAt(assignment.value, ['UEFI'])).toBe(2);
    expect(lineAt(assignment.value, ['UEFI', 'x86_64'])).toBe(3);
    expect(lineAt(assignment.value, ['UEFI', 'a', 1])).toBe(6);
    expect(lineAt(assignment.value, ['UEFI', 'absent', 'deeper'])).toBe(2);
  });
});

describe('the reader of literals, which never runs code,', () => {
  it.each([
    ['if True: A = 1', `1: 'if' is Python code; ${ONLY}`],
    ["\nA = os.environ['X']", "2: 'os.…' is Python code, which is not run"],
    ["A = open('/etc/passwd')", "1: 'open(…' is Python code, which is not run"],
    ["A['b'] = 1", "1: '=' and a value were expected after 'A', not '['"],
    ['A = B', `1: 'B' is a name: put text in quotes; ${ONLY}`],
    ['A = true', "1: 'true' is a name: write True"],
    ['A = null', "1: 'null' is a name: write None"],
    ['A = constructor', `1: 'constructor' is a name: put text in quotes; ${ONLY}`],
    ['A = lambda: 1', `1: 'lambda' is Python code; ${ONLY}`],
    ['A = 1 + 1', `1: '+' would have to be calculated; ${ONLY}`],
    ["A = 'a' % 'b'", `1: '%' would have to be calculated; ${ONLY}`],
    ['A = 1 if True', `1: 'if' is Python code; ${ONLY}`],
    ['A = [x for x in y]', `1: 'x' is a name: put text in quotes; ${ONLY}`],
    ["A = f'{x}'", "1: a string with the prefix 'f' is an expression, which is not supported"],
    ["A = rb'x'", "1: a setting cannot have bytes as its value: leave the prefix 'rb' out"],
    ["A = xy'x'", "1: 'xy' is not a prefix of a string"],
    ["A = 'open\nB = 1", "1: the string that begins here is not closed with '"],
    ["A = 1\nB = '''open\nC = 1", "2: the string that begins here is not closed with '''"],
    ["A = '\\x4'", '1: \\x needs 2 hexadecimal digits after it'],
    ["A = '\\N{DASH}'", '1: \\N{…} is not supported: write the character itself'],
    ["A = '\\U00110000'", '1: \\U00110000 is beyond the last Unicode character'],
    ['A = 0123', "1: '0123' begins with a zero: write 123, or 0o… for octal"],
    ['A = 12abc', "1: '12abc' is not a number"],
    ['A = 1__0', "1: '1__0' is not a number"],
    ['A = 2j', "1: '2j' is not a number"],
    ["A = -'a'", "1: a number was expected after '-'"],
    ['A =', '1: a value was expected, not the end of the file'],
    ['A = \nB = 2', '1: a value was expected, not the end of the line'],
    ['A', "1: '=' and a value were expected after 'A', not the end of the file"],
    ['A: int = 1', "1: write 'A = value', without an annotation"],
    ['A += 1', "1: '=' and a value were expected after 'A', not '+='"],
    ['A = B = 1', `1: 'B' is a name: put text in quotes; ${ONLY}`],
    ['A = 1 = 1', '1: a line assigns to one name only'],
    ['A = 1 2', "1: '2' was not expected here"],
    ['  A = 1', '1: the line is indented; an assignment begins at its first column'],
    ['8000', "1: an assignment 'NAME = value' was expected, not '8000'"],
    ['A = ]', "1: ']' was not expected here"],
    ["A = {'a' 1}", "1: ',' or '}' was expected, not '1'"],
    ["A = {'a': 1, 'b'}", "1: ':' and a value were expected, not '}'"],
    ['A = {[1]: 2}', '1: a list, set or mapping cannot be the key of a mapping'],
    ['A = {**x}', "1: '**' would have to be calculated; " + ONLY],
    ['A = $', "1: '$' is not valid here"],
    ['A = [1 2]', "1: ',' or ']' was expected, not '2'"],
    ['A = [1)', "1: ',' or ']' was expected, not ')'"],
    [`A = ${'['.repeat(60)}`, '1: brackets are nested more than 50 deep'],
  ])('rejects %j with the line and the reason', (text, fault) => {
    expect(faultsOf(text)).toEqual([fault]);
  });

  it('reports all faults of a file, and returns the assignments without a fault', () => {
    const text = "A = foo\nB = 2\nC = [1,\nD = 4\nE = {'x': bar,\n 'y': 1}\nF = 6\ndel F\nG = '7'\n";
    expect(faultsOf(text)).toEqual([
      `1: 'foo' is a name: put text in quotes; ${ONLY}`,
      "3: the '[' that is opened here is never closed",
      `5: 'bar' is a name: put text in quotes; ${ONLY}`,
      `8: 'del' is Python code; ${ONLY}`,
    ]);
    const assigned = parseAssignments(text).assignments.map(({ name, value }) => [name, toPlain(value)]);
    expect(assigned).toEqual([
      ['B', 2],
      ['D', 4],
      ['F', 6],
      ['G', '7'],
    ]);
  });

  it('rejects a text that is empty or has more than one literal', () => {
    expect(toPlain(parseLiteral(" {'a': 1} "))).toEqual({ a: 1 });
    expect(() => parseLiteral('1; B = 2')).toThrow("';' was not expected here");
    expect(() => parseLiteral('')).toThrow('a value was expected, not the end of the file');
  });
});

describe('names, imports and functions on paths', () => {
  const context: SourceContext = {
    file: '/etc/sushy/conf.py',
    environment: { HOME: '/root', STATE: '/srv/state' },
    workingDirectory: '/srv/lab',
    isSetting: (name) => name.startsWith('EMULATOR_'),
  };
  const parse = (lines: readonly string[]) => parseAssignments(lines.join('\n'), context);
  const evaluate = (imports: string, expression: string): unknown => {
    const { assignments, faults } = parse([imports, `EMULATOR_X = ${expression}`]);
    expect(faults).toEqual([]);
    return assignments.map(({ value }) => toPlain(value))[0];
  };

  it.each([
    ['import os', "os.path.join('/etc', 'sushy', 'key.pem')", '/etc/sushy/key.pem'],
    ['import os', "os.path.join(os.path.dirname(__file__), 'key.pem')", '/etc/sushy/key.pem'],
    ['import os', "os.path.join(os.path.dirname(os.path.abspath(__file__)), '../key.pem')", '/etc/sushy/../key.pem'],
    ['import os.path', "os.path.normpath('/etc//sushy/../key.pem')", '/etc/key.pem'],
    ['import os.path as p', "p.basename('/etc/key.pem')", 'key.pem'],
    ['from os import path, environ', "path.expanduser('~/key.pem') + environ['STATE']", '/root/key.pem/srv/state'],
    ['from os.path import (join, dirname as up,)', "join(up('/a/b'), 'c')", '/a/c'],
    ['import os', "os.path.abspath('key.pem')", '/srv/lab/key.pem'],
    ['import os', 'os.getcwd()', '/srv/lab'],
    ['import os', "os.environ.get('STATE', '/var')", '/srv/state'],
    ['import os', "os.environ.get('ABSENT', '/var') + '/x'", '/var/x'],
    ['import os', "os.getenv('ABSENT')", null],
    ['import os', "os.getenv('ABSENT', None)", null],
    ['from pathlib import Path', "Path(__file__).parent / 'tls' / 'key.pem'", '/etc/sushy/tls/key.pem'],
    ['from pathlib import Path', "str(Path('/a').joinpath('b', '..', 'c'))", '/a/b/../c'],
    ['import pathlib', "pathlib.Path('~').expanduser() / '/abs' / Path", undefined],
    ['import os', "{'UEFI': {'x86_64': os.path.join('/usr', 'fw')}}", { UEFI: { x86_64: '/usr/fw' } }],
    ['import os', "['a'] + ['b']", ['a', 'b']],
  ])('are evaluated as in Python, or have a fault where Python has an error: %s; %s', (imports, expression, value) => {
    if (value === undefined) expect(parse([imports, `EMULATOR_X = ${expression}`]).faults).toHaveLength(1);
    else expect(evaluate(imports, expression)).toEqual(value);
  });

  it('include names that an earlier line has assigned', () => {
    const { assignments, faults, used } = parse([
      "BASE = '/etc/sushy'",
      "EMULATOR_X = BASE + '/key.pem'",
      'EMULATOR_Y = EMULATOR_X',
    ]);
    expect(faults).toEqual([]);
    expect(assignments.map(({ value }) => toPlain(value))).toEqual([
      '/etc/sushy',
      '/etc/sushy/key.pem',
      '/etc/sushy/key.pem',
    ]);
    expect([...used]).toEqual(['BASE', 'EMULATOR_X']);
  });

  it('cause no fault in a value that no setting uses, even if the value is code', () => {
    const { assignments, faults } = parse([
      'import collections',
      "Host = collections.namedtuple('Host', ['hostname', 'port'])",
      'FAKE_IPA_ADVERTISE_ADDRESS = Host(hostname="192.0.2.1", port="9999")',
      "label = f'{Host}'",
      'EMULATOR_X = 1',
    ]);
    expect(faults).toEqual([]);
    expect(assignments.map(({ name }) => name)).toEqual(['EMULATOR_X']);
  });

  it.each([
    ['import socket\nEMULATOR_X = socket.gethostname()', 2, "'socket.gethostname(…)' is Python code, which is not run"],
    ['import os\nEMULATOR_X = os.path', 2, "'os.path' is Python code, which is not run"],
    ["import os\nEMULATOR_X = os.system('id')", 2, "'os.system(…)' is Python code, which is not run"],
    ["EMULATOR_X = 'node-%d' % 1", 1, `'%' would have to be calculated; ${ONLY}`],
    ["EMULATOR_X = f'{a}'", 1, "a string with the prefix 'f' is an expression, which is not supported"],
    [
      'import socket\nhost = socket.gethostname()\n\nEMULATOR_X = host',
      4,
      "'host' has no value: line 2: 'socket.gethostname(…)' is Python code, which is not run",
    ],
    [
      "from pathlib import Path\nEMULATOR_X = Path('/a').read_text()",
      2,
      "'.read_text(…)' is Python code, which is not run",
    ],
  ])('cause a fault that names the setting whose value the user must write out: %j', (text, line, message) => {
    expect(parseAssignments(text, context).faults).toEqual([{ line, message, settingToRewrite: 'EMULATOR_X' }]);
  });

  it.each([
    ["import os\nEMULATOR_X = os.environ['ABSENT']", 'the environment has no ABSENT'],
    ["import os\nEMULATOR_X = os.path.join(1, 'a')", "'os.path.join(…)': its arguments must be strings or paths"],
    ["import os\nEMULATOR_X = os.path.join('a', None)", "'os.path.join(…)': its arguments must be strings or paths"],
    ['import os\nEMULATOR_X = os.path.dirname()', "'os.path.dirname(…)': it does not take this number of arguments"],
    [
      "import os\nEMULATOR_X = os.path.expanduser('~bob')",
      "'os.path.expanduser(…)': the home folder of another user is not looked up",
    ],
    [
      "from pathlib import Path\nEMULATOR_X = Path('a').joinpath(1)",
      "'.joinpath(…)': its arguments must be strings or paths",
    ],
    ['from os', "'import' was expected, not the end of the file"],
    ['import 5', "'5' was not expected here"],
    ['from os import *', `'*' would have to be calculated; ${ONLY}`],
  ])('cause a fault with the reason for %j', (text, message) => {
    expect(parseAssignments(text, context).faults.map((fault) => fault.message)).toEqual([message]);
  });
});
