/**
 * The sizes of Python and shell files and of their functions. The limits are those of TypeScript in
 * `oxlint.config.js`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../../../..');
const MAX_FILE_LINES = 300;
const MAX_FUNCTION_LINES = 80;

const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const python = files.filter((file) => file.endsWith('.py'));
const shell = files
  .filter((file) => /^(\.ci|bin|docker|examples|packages|scripts)\//.test(file) && !/\.(ts|js|md|json|py)$/.test(file))
  .filter((file) => /^(#!.*sh\n|# shellcheck shell=)/.test(read(file)));

/** A function and its number of lines. */
interface Measured {
  readonly name: string;
  readonly lines: number;
}

/** Python program that prints `file:name lines` for each function of the files in its arguments. */
const MEASURE_PYTHON = `
import ast, sys
for file in sys.argv[1:]:
    for node in ast.walk(ast.parse(open(file).read())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            print(f'{file}:{node.name}', node.end_lineno - node.lineno + 1)
`;

function pythonFunctions(): readonly Measured[] {
  const output = execFileSync('python3', ['-c', MEASURE_PYTHON, ...python], { cwd: root, encoding: 'utf8' });
  return output
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([name = '', lines]) => ({ name, lines: Number(lines) }));
}

/** Finds bash functions: each begins with `name() {` or `name() (`, and ends with the next bracket in its column. */
function shellFunctions(file: string): readonly Measured[] {
  return [...read(file).matchAll(/^( *)([\w-]+)\(\) [{(]\n[^]*?\n\1[})]/gm)].map(([text, , name = '']) => ({
    name: `${file}:${name}`,
    lines: text.split('\n').length,
  }));
}

const tooLong = (functions: readonly Measured[]): readonly Measured[] =>
  functions.filter(({ lines }) => lines > MAX_FUNCTION_LINES);

describe('Python and shell files', () => {
  it(`have at most ${MAX_FILE_LINES} lines`, () => {
    expect([python.length > 10, shell.length > 10]).toEqual([true, true]);
    const lines = [...python, ...shell].map((file) => ({ file, lines: read(file).trimEnd().split('\n').length }));
    expect(lines.filter((each) => each.lines > MAX_FILE_LINES)).toEqual([]);
  });

  it(`have at most ${MAX_FUNCTION_LINES} lines in a function`, () => {
    const functions = [...pythonFunctions(), ...shell.flatMap(shellFunctions)];
    expect(functions.length).toBeGreaterThan(100);
    expect(tooLong(functions)).toEqual([]);
  });
});
