/**
 * Loads the effective settings. Flags have precedence over the file, the file over the environment,
 * and the environment over defaults. Within each, EMULATOR_* has precedence over SUSHY_EMULATOR_*.
 * All faults are reported together, each with its place.
 */
import path from 'node:path';
import { z } from 'zod';
import { fileReason, readTextFile } from '@rackless/daemon/text-file.js';
import { describeValue, formatLiteral } from './python/format.js';
import { parseAssignments, parseLiteral, type Assignment } from './python/literals.js';
import { lineAt, toPlain } from './python/values.js';
import {
  ALIAS_PREFIX,
  CONFIG_STEM,
  isOfFakeAgent,
  keyByStem,
  keyOf,
  PREFIX,
  stemOf,
  suggestion,
} from './setting-names.js';
import {
  recognisedNames,
  settingKeys,
  settingsTable,
  type SettingDefinition,
  type SettingKey,
  type Settings,
} from './settings.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Flags of the command line: the text, or the value of a switch (`--fake`: true). */
export type Flags = { readonly [Key in SettingKey]?: string | Settings[Key] };

export interface LoadOptions {
  /** Path of the file as given; undefined: no file. */
  readonly file?: string | undefined;
  readonly flags?: Flags;
  readonly environment?: Environment;
  /** Base folder for relative paths of flags and of the environment. */
  readonly workingDirectory?: string;
}

export interface LoadedSettings {
  /** The settings. A default replaces a value with a fault. Use them only if `faults` is empty. */
  readonly settings: Settings;
  /**
   * The origin of each value: `etc/bmc.conf:3`, `--port`, `environment EMULATOR_LISTEN_PORT`,
   * `default`.
   */
  readonly origins: Readonly<Record<SettingKey, string>>;
  /** Settings with an unknown intended value, because of a fault in the value or in its place. */
  readonly unknown: ReadonlySet<SettingKey>;
  /** One line each, which begins with the place: `etc/bmc.conf:3: …`. */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
  /** Warnings about unknown names, which `bmc-daemon check --strict` rejects. */
  readonly unknownNames: readonly string[];
}

/**
 * Returns the row of a setting with a general type, because the literal type does not allow a
 * variable key.
 */
function definition(key: SettingKey): SettingDefinition<unknown> {
  return settingsTable[key];
}

/** A value before its check. */
interface Candidate {
  readonly value: unknown;
  readonly origin: string;
  /** The name in the file or the environment, or the flag, as written. */
  readonly name: string;
  /** Returns the place of the part of the value at `path`, as the start of a message. */
  place(path: readonly PropertyKey[]): string;
  /** Base folder for its relative paths. */
  readonly directory: string;
}

class Loader {
  readonly faults: string[] = [];
  readonly warnings: string[] = [];
  readonly unknownNames: string[] = [];

  noteUnknownName(warning: string): void {
    this.warnings.push(warning);
    this.unknownNames.push(warning);
  }

  /** Returns the checked value; undefined after a fault, which is recorded. */
  check(key: SettingKey, candidate: Candidate): { value: unknown } | undefined {
    const row = definition(key);
    const unusable = pathToUnusableKey(candidate.value);
    if (unusable !== undefined) {
      this.faults.push(`${candidate.place(unusable)}: ${candidate.name}: '${UNUSABLE_KEY}' cannot be a key`);
      return undefined;
    }
    const result = row.type.safeParse(this.respelled(row, candidate));
    // sushy-tools reads an empty string as None. It may be an unset shell variable, and would
    // disable HTTPS.
    if (result.success && candidate.value === '' && result.data === null)
      this.warnings.push(`${candidate.place([])}: ${candidate.name} is empty, which is the same as None`);
    if (result.success)
      return { value: row.path === true ? resolvePaths(result.data, candidate.directory) : result.data };
    const [issue] = result.error.issues;
    if (issue !== undefined)
      this.faults.push(`${candidate.place(issue.path)}: ${describeIssue(row, issue, candidate)}`);
    return undefined;
  }

  /** Returns the value with the keys of its mapping in the spelling of the table. */
  private respelled({ keys }: SettingDefinition<unknown>, candidate: Candidate): unknown {
    const { name, value } = candidate;
    if (keys === undefined || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]): [string, unknown] => {
        const meant = keys.find((known) => known.toLowerCase() === key.toLowerCase());
        if (meant === undefined || meant === key || Object.hasOwn(value, meant)) return [key, member];
        this.warnings.push(
          `${candidate.place([key])}: ${name}: ${formatLiteral(key)} is read as ${formatLiteral(meant)}`,
        );
        return [meant, member];
      }),
    );
  }
}

/** The schemas drop this key silently, because it would change the prototype of an object. */
const UNUSABLE_KEY = '__proto__';

/** Returns the path in a value to the first {@link UNUSABLE_KEY}, or undefined. */
function pathToUnusableKey(value: unknown): readonly string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (key === UNUSABLE_KEY) return [key];
    const below = pathToUnusableKey(member);
    if (below !== undefined) return [key, ...below];
  }
  return undefined;
}

function resolvePaths(value: unknown, directory: string): unknown {
  if (typeof value === 'string') return path.resolve(directory, value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolvePaths(member, directory)]));
}

function describeIssue(row: SettingDefinition<unknown>, issue: z.core.$ZodIssue, candidate: Candidate): string {
  const { name, value } = candidate;
  if (issue.code === 'unrecognized_keys' || issue.code === 'invalid_key') {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : [String(issue.path.at(-1))];
    return `${name} has no key ${keys.map(formatLiteral).join(', ')}; it must be ${row.expected}`;
  }
  const found = issue.path.reduce<unknown>((part, step) => (part as Record<PropertyKey, unknown>)[step], value);
  const expected = issue.path.length === 0 ? row.expected : (row.expectedPart ?? row.expected);
  const part = issue.path.map((step) => `[${formatLiteral(step)}]`).join('');
  return `${name}${part} must be ${expected}, not ${describeValue(found)}`;
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map(
  Object.entries({
    true: true,
    yes: true,
    on: true,
    '1': true,
    false: false,
    no: false,
    off: false,
    '0': false,
  }),
);

/** Reads the text of a flag or an environment variable as the value of a setting. */
function readText(row: SettingDefinition<unknown>, text: string): { value: unknown } | { fault: string } {
  if (row.form === 'text') return { value: text === 'None' && row.type.safeParse(null).success ? null : text };
  if (typeof row.default === 'boolean') return { value: BOOLEANS.get(text.trim().toLowerCase()) ?? text };
  try {
    return { value: toPlain(parseLiteral(text)) };
  } catch (error) {
    // For a number, "not the string 'abc'" is clearer than an error about a literal.
    if (typeof row.default === 'number') return { value: text };
    return { fault: `must be ${row.expected}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

interface FileContents {
  /** The effective assignment by key. */
  readonly assignments: ReadonlyMap<SettingKey, { assignment: Assignment; alias: boolean }>;
}

function readFile(file: string, loader: Loader): string | undefined {
  if (file === '') {
    // Only a flag can be empty: an empty variable counts as absent.
    loader.faults.push("command line: --config must be a path (a string), not the string ''");
    return undefined;
  }
  try {
    return readTextFile(file);
  } catch (error) {
    loader.faults.push(`${file}: the configuration can not be read: ${fileReason(error)}`);
    return undefined;
  }
}

/** Returns the end of a message about an expression that is not read: the form of the line to write instead. */
function lineToWrite(name: string | undefined): string {
  const key = name === undefined ? undefined : keyOf(name)?.key;
  if (key === undefined) return '';
  // Never the default: it can differ from what the expression means, such as '0.0.0.0' for '127.0.0.1'.
  return `; write the value itself: ${name} = ${definition(key).form === 'text' ? "'…'" : '…'}`;
}

function loadFile(
  file: string,
  loader: Loader,
  { environment = {}, workingDirectory = process.cwd() }: LoadOptions,
): FileContents {
  const assignments = new Map<SettingKey, { assignment: Assignment; alias: boolean }>();
  const text = readFile(file, loader);
  if (text === undefined) return { assignments };
  const parsed = parseAssignments(text, {
    file: path.resolve(workingDirectory, file),
    environment,
    workingDirectory,
    isSetting: (name) => stemOf(name) !== undefined || keyOf(name) !== undefined,
  });
  for (const { line, message, needsValue } of parsed.faults)
    loader.faults.push(`${file}:${line}: ${message}${lineToWrite(needsValue)}`);

  const unused: string[] = [];
  const firstLines = new Map<string, number>();
  for (const assignment of parsed.assignments) {
    const { name, line } = assignment;
    const earlier = firstLines.get(name);
    if (earlier !== undefined)
      loader.warnings.push(`${file}:${line}: ${name} was already set on line ${earlier}; this one holds`);
    firstLines.set(name, line);

    const stem = stemOf(name);
    const found = keyOf(name);
    if (found !== undefined) {
      const { key, alias } = found;
      const other = assignments.get(key);
      // EMULATOR_* has precedence over its alias. Of two equal names, the later one applies, as in
      // Python.
      if (other === undefined || other.alias || !alias) assignments.set(key, { assignment, alias });
      if (other !== undefined && other.alias !== alias) {
        const [ours, theirs] = alias ? [other.assignment, assignment] : [assignment, other.assignment];
        loader.warnings.push(
          `${file}:${theirs.line}: ${theirs.name} is left out: ${ours.name} is set on line ${ours.line}`,
        );
      }
    } else if (stem !== undefined && Object.hasOwn(recognisedNames, stem.stem)) {
      unused.push(`${name} (line ${line})`);
    } else if (isOfFakeAgent(name)) {
      unused.push(`${name} (line ${line})`);
    } else if (stem?.stem !== CONFIG_STEM && !parsed.used.has(name)) {
      loader.noteUnknownName(`${file}:${line}: ${name} is not a setting${suggestion(name)}`);
    }
  }
  if (unused.length > 0) loader.warnings.push(`${file}: recognised, not used yet: ${unused.join(', ')}`);
  return { assignments };
}

/** Returns the environment variables of settings by key, and warns about misspelled ones. */
function environmentVariables(environment: Environment, loader: Loader): Map<SettingKey, string> {
  const found = new Map<SettingKey, string>();
  // EMULATOR_* sorts before SUSHY_EMULATOR_*, and LIBVIRT_URI before LIBVIRT_URL: the first one
  // applies.
  const names = Object.keys(environment).sort(
    (a, b) => Number(a.startsWith('SUSHY')) - Number(b.startsWith('SUSHY')) || (a < b ? -1 : 1),
  );
  for (const name of names) {
    const stem = stemOf(name)?.stem;
    // Compose files and systemd units use an empty variable for an absent one.
    if (stem === undefined || environment[name] === undefined || environment[name] === '') continue;
    const key = keyByStem.get(stem);
    if (key !== undefined) {
      if (!found.has(key)) found.set(key, name);
    } else if (stem !== CONFIG_STEM && !Object.hasOwn(recognisedNames, stem)) {
      const near = suggestion(name);
      // Without a similar name it belongs to another program.
      if (near !== '') loader.noteUnknownName(`environment: ${name} is not a setting${near}`);
    }
  }
  return found;
}

/** Returns the path of the configuration file from the environment. */
export function configFileOf(environment: Environment): string | undefined {
  const files = [environment[PREFIX + CONFIG_STEM], environment[ALIAS_PREFIX + CONFIG_STEM]];
  return files.find((file) => file !== undefined && file !== '');
}

function fileCandidate(file: string, { name, value, line }: Assignment): Candidate {
  return {
    value: toPlain(value),
    origin: `${file}:${line}`,
    name,
    place: (steps) => `${file}:${steps.length === 0 ? line : lineAt(value, steps)}`,
    directory: path.dirname(path.resolve(file)),
  };
}

/**
 * Loads all settings. It runs no code, and reads only the configuration file. {@link
 * inspectSettings} checks the files that the settings name.
 */
export function loadSettings(options: LoadOptions): LoadedSettings {
  const { file, flags = {}, environment = {}, workingDirectory = process.cwd() } = options;
  const loader = new Loader();
  const { assignments } =
    file === undefined ? { assignments: new Map<never, never>() } : loadFile(file, loader, options);
  const variables = environmentVariables(environment, loader);

  // All faults so far concern the whole file, or a line without a setting. The missing settings are
  // unknown.
  const fileIsPartial = loader.faults.length > 0;

  const values: [SettingKey, unknown][] = [];
  const origins: [SettingKey, string][] = [];
  const unknown = new Set<SettingKey>();
  for (const key of settingKeys) {
    const row = definition(key);
    let chosen: { value: unknown; origin: string } = { value: row.default, origin: 'default' };
    const choose = (candidate: Candidate) => {
      const checked = loader.check(key, candidate);
      if (checked === undefined) {
        unknown.add(key);
        return;
      }
      unknown.delete(key);
      chosen = { value: checked.value, origin: candidate.origin };
    };
    const chooseText = (written: string, place: string, name: string, origin: string) => {
      const read = readText(row, written);
      if ('fault' in read) {
        loader.faults.push(`${place}: ${name} ${read.fault}`);
        unknown.add(key);
      } else choose({ value: read.value, origin, name, place: () => place, directory: workingDirectory });
    };

    const flag = flags[key];
    const inFile = assignments.get(key);
    const variable = variables.get(key);
    // From the lowest precedence. The file is checked even if a flag overrides it, because its
    // faults must be reported.
    const text = variable === undefined ? undefined : environment[variable];
    if (variable !== undefined && text !== undefined && inFile === undefined && flag === undefined)
      chooseText(text, 'environment', variable, `environment ${variable}`);
    if (inFile !== undefined && file !== undefined) choose(fileCandidate(file, inFile.assignment));
    if (flag !== undefined) {
      const name = row.flag?.split(', ').at(-1) ?? row.name;
      if (typeof flag === 'string') chooseText(flag, 'command line', name, name);
      else choose({ value: flag, origin: name, name, place: () => 'command line', directory: workingDirectory });
    }
    if (fileIsPartial && inFile === undefined && flag === undefined) unknown.add(key);
    values.push([key, chosen.value]);
    origins.push([key, chosen.origin]);
  }
  return {
    // Each value has passed the zod type of its row, and every key of the table is present.
    settings: Object.fromEntries(values) as Settings,
    origins: Object.fromEntries(origins) as Record<SettingKey, string>,
    unknown,
    faults: loader.faults,
    warnings: loader.warnings,
    unknownNames: loader.unknownNames,
  };
}
