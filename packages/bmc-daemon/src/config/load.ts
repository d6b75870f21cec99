/**
 * Loads the effective settings. Flags have precedence over the file, the file over the environment,
 * and the environment over defaults. In the file and in the environment, EMULATOR_* has precedence
 * over SUSHY_EMULATOR_*. All faults are reported together, each with its place.
 */
import { readConfigFile } from './config-file.js';
import { environmentVariables, type Environment, type Variable } from './environment.js';
import { Findings, type Candidate } from './findings.js';
import { parseLiteral } from './python/literals.js';
import { toPlain } from './python/values.js';
import type { SettingDefinition } from './rows/row.js';
import { settingKeys, settingsTable, type SettingKey, type Settings } from './settings.js';

/** Flags of the command line: the text, or the value of a switch (`--fake`: true). */
export type Flags = { readonly [Key in SettingKey]?: string | Settings[Key] };

/** The sources of settings. Without a source, its settings are absent. */
export interface LoadOptions {
  /** Path of the file as given; undefined: no file. */
  readonly file?: string | undefined;
  readonly flags?: Flags;
  readonly environment?: Environment;
  /**
   * Base folder for relative paths of flags and of the environment. Default: the current folder.
   */
  readonly workingDirectory?: string;
}

/** Settings with their origins, faults and warnings. */
export interface LoadedSettings {
  /**
   * The settings. A value with a fault has no effect. If a flag has a fault, the value of the file applies. If there
   * is no other valid value, the default applies. Use the settings only if `faults` is empty.
   */
  readonly settings: Settings;
  /**
   * The origin of each value: `etc/bmc.conf:3`, `--port`, `environment EMULATOR_LISTEN_PORT`,
   * `default`.
   */
  readonly origins: Readonly<Record<SettingKey, string>>;
  /** Settings whose intended value is unknown, because the value, a line of the file or the whole file has a fault. */
  readonly unknown: ReadonlySet<SettingKey>;
  /** One line each, which begins with the place, such as `etc/bmc.conf:3: …`. */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
  /** Warnings about unknown names, which `bmc-daemon check --strict` rejects. */
  readonly unknownNames: readonly string[];
}

/**
 * Loads all settings. It runs no code, and reads only the configuration file. {@link
 * inspectSettings} checks the files that the settings name.
 */
export function loadSettings(options: LoadOptions): LoadedSettings {
  const { file, flags = {}, environment = {}, workingDirectory = process.cwd() } = options;
  const findings = new Findings();
  const fileValues =
    file === undefined
      ? new Map<SettingKey, Candidate>()
      : readConfigFile(file, findings, { environment, workingDirectory });
  const variables = environmentVariables(environment, findings);
  // All faults so far concern the whole file, or a line that could not be read. An unread line may
  // contain any setting that the other lines do not contain, so the values of these settings are
  // unknown.
  const fileIsPartial = findings.faults.length > 0;

  const values: [SettingKey, unknown][] = [];
  const origins: [SettingKey, string][] = [];
  const unknown = new Set<SettingKey>();
  for (const key of settingKeys) {
    // Uses a general type for the row, because the literal type does not allow a variable as key.
    const row: SettingDefinition<unknown> = settingsTable[key];
    const flag = flags[key];
    const inFile = fileValues.get(key);
    let chosen: { readonly value: unknown; readonly origin: string } = { value: row.default, origin: 'default' };
    for (const candidate of candidatesOf(row, { flag, inFile, variable: variables.get(key), workingDirectory })) {
      const checked = findings.check(row, candidate);
      if (checked === undefined) unknown.add(key);
      else {
        unknown.delete(key);
        chosen = { value: checked.value, origin: candidate.origin };
      }
    }
    if (fileIsPartial && inFile === undefined && flag === undefined) unknown.add(key);
    values.push([key, chosen.value]);
    origins.push([key, chosen.origin]);
  }
  const { faults, warnings, unknownNames } = findings;
  return {
    // Each value has passed the zod type of its row, and every key of the table is present.
    settings: Object.fromEntries(values) as Settings,
    origins: Object.fromEntries(origins) as Record<SettingKey, string>,
    unknown,
    faults,
    warnings,
    unknownNames,
  };
}

/** The values that the sources give for one setting; undefined: absent. */
interface Sources {
  readonly flag: unknown;
  readonly inFile: Candidate | undefined;
  readonly variable: Variable | undefined;
  readonly workingDirectory: string;
}

/**
 * Returns the values to check, lowest precedence first. A value of the file is checked even if a
 * flag overrides it, because its faults must be reported. A variable is checked only if nothing
 * overrides it.
 */
function candidatesOf(
  row: SettingDefinition<unknown>,
  { flag, inFile, variable, workingDirectory: directory }: Sources,
): readonly Candidate[] {
  if (flag !== undefined) {
    const name = row.flag?.split(', ').at(-1) ?? row.name;
    const parsedFlag = typeof flag === 'string' ? readText(row, flag) : { value: flag };
    const fromFlag = { ...parsedFlag, origin: name, name, place: () => 'command line', directory };
    return inFile === undefined ? [fromFlag] : [inFile, fromFlag];
  }
  if (inFile !== undefined) return [inFile];
  if (variable === undefined) return [];
  const { name, text } = variable;
  return [{ ...readText(row, text), origin: `environment ${name}`, name, place: () => 'environment', directory }];
}

/** Spellings of True and False in flags and variables, in lower case. */
const booleans: ReadonlyMap<string, boolean> = new Map(
  Object.entries({ true: true, yes: true, on: true, '1': true, false: false, no: false, off: false, '0': false }),
);

/** Reads the text of a flag or an environment variable as the value of a setting. */
function readText(row: SettingDefinition<unknown>, text: string): Pick<Candidate, 'value' | 'fault'> {
  const isText = row.form === 'text' || (row.form === 'mixed' && !/^\s*[[({]/.test(text));
  if (isText) return { value: text === 'None' && row.type.safeParse(null).success ? null : text };
  if (typeof row.default === 'boolean') return { value: booleans.get(text.trim().toLowerCase()) ?? text };
  try {
    return { value: toPlain(parseLiteral(text)) };
  } catch (error) {
    // For a number, "not the string 'abc'" is clearer than a message about Python literals.
    if (typeof row.default === 'number') return { value: text };
    return { value: text, fault: `must be ${row.expected}: ${error instanceof Error ? error.message : String(error)}` };
  }
}
