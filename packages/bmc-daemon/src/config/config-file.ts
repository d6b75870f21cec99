/** Reads the settings of the configuration file. */
import path from 'node:path';
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import type { Environment } from './environment.js';
import type { Candidate, Findings } from './findings.js';
import { parseAssignments, type Assignment } from './python/literals.js';
import { lineAt, toPlain } from './python/values.js';
import { BARE_CONFIG_NAME, isOfFakeAgent, keyOf, recognizedNames, withoutPrefix, suggestion } from './setting-names.js';
import { settingsTable, type SettingKey } from './settings.js';

/** An assignment of a setting. */
interface FileSetting {
  readonly assignment: Assignment;
  /** The name is one of sushy-tools: `SUSHY_EMULATOR_*`, or a name without a prefix. */
  readonly isAlias: boolean;
}

/**
 * Reads the file and returns the value that it gives to each setting. Records the faults of the
 * file, and warns about unknown, repeated and unused names. Runs no code.
 * @param file path as given: absolute or relative to the current folder.
 * @param context the variables and the folder that expressions of the file may refer to.
 */
export function readConfigFile(
  file: string,
  findings: Findings,
  { environment, workingDirectory }: { readonly environment: Environment; readonly workingDirectory: string },
): ReadonlyMap<SettingKey, Candidate> {
  const text = readText(file, findings);
  if (text === undefined) return new Map();
  const parsed = parseAssignments(text, {
    file: path.resolve(workingDirectory, file),
    environment,
    workingDirectory,
    isSetting: (name) => withoutPrefix(name) !== undefined || keyOf(name) !== undefined,
  });
  for (const { line, message, settingToRewrite } of parsed.faults)
    findings.faults.push(`${file}:${line}: ${message}${lineToWrite(settingToRewrite)}`);

  const settings = new Map<SettingKey, FileSetting>();
  const unused: string[] = [];
  const firstLines = new Map<string, number>();
  for (const assignment of parsed.assignments) {
    const { name, line } = assignment;
    const earlier = firstLines.get(name);
    if (earlier !== undefined)
      findings.warnings.push(`${file}:${line}: ${name} was already set on line ${earlier}; this line applies`);
    firstLines.set(name, line);

    const bareName = withoutPrefix(name)?.bareName;
    const setting = keyOf(name);
    if (setting !== undefined)
      addSetting(settings, setting.key, { assignment, isAlias: setting.isAlias }, file, findings);
    else if ((bareName !== undefined && Object.hasOwn(recognizedNames, bareName)) || isOfFakeAgent(name))
      unused.push(`${name} (line ${line})`);
    else if (bareName !== BARE_CONFIG_NAME && !parsed.used.has(name))
      findings.addUnknownName(`${file}:${line}: ${name} is not a setting${suggestion(name)}`);
  }
  if (unused.length > 0)
    findings.warnings.push(`${file}: settings of sushy-emulator without effect here: ${unused.join(', ')}`);
  return new Map([...settings].map(([key, { assignment }]) => [key, candidateOf(file, assignment)]));
}

function readText(file: string, findings: Findings): string | undefined {
  if (file === '') {
    // An empty path comes from a flag, because an empty variable counts as absent.
    findings.faults.push("command line: --config must be a path (a string), not the string ''");
    return undefined;
  }
  try {
    return readTextFile(file);
  } catch (error) {
    findings.faults.push(`${file}: the configuration cannot be read: ${fileReason(error)}`);
    return undefined;
  }
}

/**
 * Returns the end of the message about an expression that is not supported. It shows the line to
 * write instead; empty if the name is not a setting.
 */
function lineToWrite(name: string | undefined): string {
  const key = name === undefined ? undefined : keyOf(name)?.key;
  if (key === undefined) return '';
  // The message never suggests the default, because it can differ from what the expression means:
  // '0.0.0.0' for '127.0.0.1'.
  return `; write the value itself: ${name} = ${settingsTable[key].form === 'literal' ? '…' : "'…'"}`;
}

/**
 * Adds an assignment of a setting. EMULATOR_* has precedence over its alias. Of two equal names,
 * the later one applies, as in Python.
 */
function addSetting(
  settings: Map<SettingKey, FileSetting>,
  key: SettingKey,
  setting: FileSetting,
  file: string,
  { warnings }: Findings,
): void {
  const earlier = settings.get(key);
  if (earlier === undefined || earlier.isAlias || !setting.isAlias) settings.set(key, setting);
  if (earlier === undefined || earlier.isAlias === setting.isAlias) return;
  const [applied, ignored] = setting.isAlias ? [earlier, setting] : [setting, earlier];
  const { name, line } = ignored.assignment;
  warnings.push(
    `${file}:${line}: ${name} is ignored, because ${applied.assignment.name} is set on line ${applied.assignment.line}`,
  );
}

function candidateOf(file: string, { name, value, line }: Assignment): Candidate {
  return {
    value: toPlain(value),
    origin: `${file}:${line}`,
    name,
    place: (steps) => `${file}:${steps.length === 0 ? line : lineAt(value, steps)}`,
    directory: path.dirname(path.resolve(file)),
  };
}
