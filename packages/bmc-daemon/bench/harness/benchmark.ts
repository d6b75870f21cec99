/** Common parts of benchmarks: options, a temporary folder, and the output of figures with goals. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';

type Default = number | boolean | string;
type Wide<Value> = Value extends number ? number : Value extends boolean ? boolean : string;

/**
 * Reads the options of the command line: `{ machines: 20, fake: false }` declares `--machines N` and
 * `--fake`.
 * @param defaults the value of each option that is not given.
 * @param paths options that name a file. A relative path begins at the folder of the caller: npm runs
 * the benchmark in the folder of the package, and names the folder of the caller in INIT_CWD.
 * @throws {TypeError} for an unknown option, and for an option without its value.
 */
export function readFlags<Defaults extends Readonly<Record<string, Default>>>(
  defaults: Defaults,
  paths: readonly (keyof Defaults)[] = [],
): { readonly [Name in keyof Defaults]: Wide<Defaults[Name]> } {
  const options: NonNullable<ParseArgsConfig['options']> = {};
  for (const [name, value] of Object.entries(defaults)) {
    options[name] =
      typeof value === 'boolean' ? { type: 'boolean', default: value } : { type: 'string', default: String(value) };
  }
  const { values } = parseArgs({ options, args: process.argv.slice(2) });
  for (const name of Object.keys(defaults).filter((option) => paths.includes(option))) {
    const path = values[name];
    if (typeof path === 'string' && path !== '') values[name] = resolve(process.env['INIT_CWD'] ?? '', path);
  }
  const read = Object.entries(defaults).map(([name, value]) => [
    name,
    typeof value === 'number' ? Number(values[name]) : values[name],
  ]);
  // Each option has the type of its default.
  return Object.fromEntries(read) as { readonly [Name in keyof Defaults]: Wide<Defaults[Name]> };
}

/** Runs a benchmark with a temporary folder, and removes the folder. */
export async function inFolder<Result>(run: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'bmc-bench-'));
  try {
    return await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * Prints a figure.
 * @param goal its maximum. Default: none.
 * @returns whether it is within the goal.
 */
export function report(what: string, value: number, unit: string, goal = Infinity): boolean {
  const isMet = value <= goal;
  const limit = goal === Infinity ? '' : `  goal ${goal}${unit}${isMet ? '' : '  MISSED'}`;
  console.log(`  ${what.padEnd(58)} ${value.toFixed(2).padStart(9)}${unit}${limit}`);
  return isMet;
}
