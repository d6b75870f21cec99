/** What is wrong with a configuration, all of it at once, each with its place. */
import {
  describeNode,
  formatPath,
  nodeAt,
  toPlain,
  type KeyPath,
  type YamlMapping,
  type YamlNode,
} from './yaml-node.js';
import type { SettingDefinition } from './setting-types.js';

/** The configuration can not be used. Nothing of it has taken effect. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** A line each: `config.yaml:12: model_list[2].litellm_params.api_base: must be …`. */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
  /** Absolute paths of the files whose change may mend it. */
  readonly watchedFiles: readonly string[];

  constructor(faults: readonly string[], warnings: readonly string[], watchedFiles: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
    this.warnings = warnings;
    this.watchedFiles = watchedFiles;
  }
}

/** A sentence and the line that it is about; line 0: a file as a whole, the command line, the environment. */
interface Finding {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Collects, while a configuration is read to its end in spite of what is wrong with it. */
export class Findings {
  readonly #faults: Finding[] = [];
  readonly #warnings: Finding[] = [];
  /** Absolute paths. */
  readonly watchedFiles = new Set<string>();

  /** What is wrong with a value. Said once, however many inherit the value. */
  fault(node: YamlNode, path: KeyPath, sentence: string): void {
    this.#addFault(finding(node, path, sentence));
  }

  warn(node: YamlNode, path: KeyPath, sentence: string): void {
    this.#warnings.push(finding(node, path, sentence));
  }

  /** What is wrong outside of files' values; `text` begins with its place. */
  faultAt(place: Omit<Finding, 'text'>, text: string): void {
    this.#addFault({ ...place, text });
  }

  warnAt(place: Omit<Finding, 'text'>, text: string): void {
    this.#warnings.push({ ...place, text });
  }

  #addFault(fault: Finding): void {
    if (!this.#faults.some(({ text }) => text === fault.text)) this.#faults.push(fault);
  }

  get faultCount(): number {
    return this.#faults.length;
  }

  /** In the order of the files and of their lines. */
  get faults(): readonly string[] {
    return inOrder(this.#faults);
  }

  get warnings(): readonly string[] {
    return inOrder(this.#warnings);
  }
}

/** Where what is no file is listed: before all files. */
export const COMMAND_LINE = { file: 'command line', line: 0 };
export const ENVIRONMENT = { file: 'environment', line: 0 };

function finding(node: YamlNode, path: KeyPath, sentence: string): Finding {
  const at = formatPath(path);
  const place = node.line === 0 ? node.file : `${node.file}:${node.line}`;
  return { file: node.file, line: node.line, text: `${place}: ${at === '' ? '' : `${at}: `}${sentence}` };
}

function inOrder(findings: readonly Finding[]): readonly string[] {
  const files = [...new Set([COMMAND_LINE.file, ENVIRONMENT.file, ...findings.map(({ file }) => file)])];
  return findings
    .toSorted((left, right) => files.indexOf(left.file) - files.indexOf(right.file) || left.line - right.line)
    .map(({ text }) => text);
}

/** A table of settings: the rows of one block, by our name for them. */
export type Table = Readonly<Record<string, SettingDefinition<unknown>>>;

/** The checked values of a block; undefined: not set, or at fault. */
export type Values<T extends Table> = {
  readonly [Key in keyof T]: (T[Key] extends SettingDefinition<infer V> ? V : never) | undefined;
};

export interface Block<T extends Table> {
  readonly values: Values<T>;
  /** Where each value that is set stands, and how it is spelled there. */
  readonly places: ReadonlyMap<keyof T, { readonly node: YamlNode; readonly path: KeyPath }>;
  /** Members that the table does not know. */
  readonly rest: readonly (readonly [key: string, node: YamlNode])[];
}

/** Checks the members of a block against its table. Faults are noted. @param node undefined: the block is not there. */
export function readBlock<T extends Table>(
  table: T,
  node: YamlMapping | undefined,
  path: KeyPath,
  findings: Findings,
): Block<T> {
  const keyByName = new Map<string, string>();
  for (const [key, row] of Object.entries(table))
    for (const name of [row.name, ...row.aliases]) keyByName.set(name, key);

  const values: Record<string, unknown> = {};
  const places = new Map<keyof T, { node: YamlNode; path: KeyPath }>();
  const rest: [string, YamlNode][] = [];
  for (const [name, member] of node?.members ?? []) {
    const key = keyByName.get(name);
    const row = key === undefined ? undefined : table[key];
    if (key === undefined || row === undefined) {
      rest.push([name, member]);
      continue;
    }
    const unresolved = member.kind === 'scalar' && member.unresolved === true;
    // A key with nothing behind it is how people leave a setting out.
    if (member.kind === 'scalar' && member.value === null && !unresolved) continue;
    const at = [...path, name];
    const other = places.get(key);
    if (other !== undefined) {
      findings.fault(
        member,
        at,
        `is the same setting as ${formatPath(other.path)} on line ${other.node.line}: keep one`,
      );
      continue;
    }
    places.set(key, { node: member, path: at });
    if (unresolved) continue;
    const result = row.type.safeParse(toPlain(member));
    if (result.success) values[key] = result.data;
    else for (const issue of result.error.issues) noteIssue(row, member, at, issue.path, findings);
  }
  // Each value passed its row's type; keys that are not set read as undefined.
  return { values: values as Values<T>, places, rest };
}

function noteIssue(
  row: SettingDefinition<unknown>,
  node: YamlNode,
  path: KeyPath,
  steps: readonly PropertyKey[],
  findings: Findings,
): void {
  const found = nodeAt(node, steps);
  const expected = steps.length === 0 ? row.expected : (row.expectedPart ?? row.expected);
  const secret = row.secret === true;
  const inner = steps.map((step) => (typeof step === 'number' ? step : String(step)));
  findings.fault(found, [...path, ...inner], `must be ${expected}, not ${describeNode(found, { secret })}`);
}
