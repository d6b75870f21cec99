/** Collects all faults of a configuration, each with its place, and reports them together. */
import {
  describeNode,
  formatPath,
  nodeAt,
  toPlain,
  type KeyPath,
  type YamlMapping,
  type YamlNode,
} from '@rackless/daemon/yaml/yaml-node.js';
import type { SettingDefinition } from './setting-types.js';

/** Reports that a configuration cannot be used. No part of it has taken effect. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /**
   * One line for each fault: `config.yaml:12: model_list[2].litellm_params.api_base: must be …`.
   */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
  /** Absolute paths of the configuration's files. A change of one of them may correct a fault. */
  readonly watchedFiles: readonly string[];

  constructor(faults: readonly string[], warnings: readonly string[], watchedFiles: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
    this.warnings = warnings;
    this.watchedFiles = watchedFiles;
  }
}

/** A message about a line. Line 0 stands for a whole file, the command line or the environment. */
interface Finding {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Collects faults and warnings while the configuration is read to the end. */
export class Findings {
  /** The faults by their texts, to find duplicates fast: a file can have 100,000 faults. */
  readonly #faults = new Map<string, Finding>();
  readonly #warnings: Finding[] = [];
  /** Absolute paths of all files of the configuration, also of unreadable files. */
  readonly watchedFiles = new Set<string>();

  /**
   * Adds a fault of a value. The same text is added once, even if several deployments inherit the
   * value.
   */
  fault(node: YamlNode, path: KeyPath, sentence: string): void {
    this.#addFault(finding(node, path, sentence));
  }

  warn(node: YamlNode, path: KeyPath, sentence: string): void {
    this.#warnings.push(finding(node, path, sentence));
  }

  /** Adds a fault that is not about a value of a file. @param text begins with the place. */
  faultAt(place: Omit<Finding, 'text'>, text: string): void {
    this.#addFault({ ...place, text });
  }

  warnAt(place: Omit<Finding, 'text'>, text: string): void {
    this.#warnings.push({ ...place, text });
  }

  #addFault(fault: Finding): void {
    if (!this.#faults.has(fault.text)) this.#faults.set(fault.text, fault);
  }

  get faultCount(): number {
    return this.#faults.size;
  }

  /** All faults: those of the command line, of the environment, then those of each file by line. */
  get faults(): readonly string[] {
    return inOrder([...this.#faults.values()]);
  }

  get warnings(): readonly string[] {
    return inOrder(this.#warnings);
  }
}

/** The command line as a place. Its messages come before those of all files. */
export const COMMAND_LINE = { file: 'command line', line: 0 };
/** The environment as a place. Its messages follow those of the command line. */
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

/** A table of settings: the rows of a block by their internal names. */
export type Table = Readonly<Record<string, SettingDefinition<unknown>>>;

/** The checked values of a block; undefined if a value is not set or faulty. */
type Values<T extends Table> = {
  readonly [Key in keyof T]: (T[Key] extends SettingDefinition<infer V> ? V : never) | undefined;
};

/** A checked block. */
export interface Block<T extends Table> {
  readonly values: Values<T>;
  /** For each setting that is set, also to a faulty value: its node, and its path as spelled in the file. */
  readonly places: ReadonlyMap<keyof T, { readonly node: YamlNode; readonly path: KeyPath }>;
  /** Members that are not in the table. */
  readonly rest: readonly (readonly [key: string, node: YamlNode])[];
}

/** The results of {@link keysOf}, stored because a file may have 10,000 blocks of the same table. */
const cachedKeys = new WeakMap<Table, ReadonlyMap<string, string>>();

/** Returns the internal names of a table's rows by their names and aliases in files. */
function keysOf(table: Table): ReadonlyMap<string, string> {
  const cached = cachedKeys.get(table);
  if (cached !== undefined) return cached;
  const keys = new Map<string, string>();
  for (const [key, row] of Object.entries(table)) for (const name of [row.name, ...row.aliases]) keys.set(name, key);
  cachedKeys.set(table, keys);
  return keys;
}

/**
 * Checks the members of a block against its table and adds the faults.
 * @param node undefined if the block is missing.
 */
export function readBlock<T extends Table>(
  table: T,
  node: YamlMapping | undefined,
  path: KeyPath,
  findings: Findings,
): Block<T> {
  const keyByName = keysOf(table);
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
    // A key without a value means that the setting is not set.
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
  // Each value has passed the check of its row, and settings that are not set read as undefined.
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
