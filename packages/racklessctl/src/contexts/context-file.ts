/** The file of contexts: the services that a user works with, and how to log in to them. */
import { mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FileChangedError, replaceFile } from '@rackless/daemon/files/replace-file.js';
import { readTextFile, fileReason } from '@rackless/daemon/files/text-file.js';
import { nearestName } from '@rackless/daemon/text/nearest-name.js';
import { parseYaml } from '@rackless/daemon/yaml/yaml-document.js';
import type { YamlNode } from '@rackless/daemon/yaml/yaml-node.js';
import { writeYaml } from '@rackless/daemon/yaml/write-yaml.js';
import { CommandFailure, exitCode } from '../failure.js';

/** Keys of a context whose value is a text. */
const textKeys = ['url', 'user', 'password', 'password-file', 'password-command', 'ca', 'auth'] as const;
type TextKey = (typeof textKeys)[number];

/** A context as the file contains it. */
export type Context = Readonly<Partial<Record<TextKey, string>>> & { readonly insecure?: boolean };

/** The content of the file. */
export interface Contexts {
  /** The file, for messages and for paths relative to it. */
  readonly file: string;
  /** The name of the context that commands use without `--context`. */
  readonly current: string | undefined;
  readonly contexts: ReadonlyMap<string, Context>;
}

/**
 * Returns the path of the file: `RACKLESSCTL_CONFIG`, or `racklessctl/contexts.yaml` in
 * `XDG_CONFIG_HOME`. If this variable has no absolute path, the folder is `~/.config`.
 */
export function contextFilePath(environment: NodeJS.ProcessEnv): string {
  const given = environment['RACKLESSCTL_CONFIG'];
  if (given !== undefined && given !== '') return given;
  const folder = environment['XDG_CONFIG_HOME'];
  const base = folder !== undefined && path.isAbsolute(folder) ? folder : path.join(homedir(), '.config');
  return path.join(base, 'racklessctl', 'contexts.yaml');
}

const fault = (file: string, line: number | undefined, text: string): CommandFailure =>
  new CommandFailure(exitCode.configuration, `${file}${line === undefined || line === 0 ? '' : `:${line}`}: ${text}`);

/**
 * Reads the file. A missing or empty file has no contexts.
 * @throws {CommandFailure} with the file, and the line if a line is wrong. Also throws if the file
 *   contains passwords and other users have access to it.
 */
export function readContexts(file: string): Contexts {
  return parseContexts(file, textOf(file));
}

function parseContexts(file: string, text: string): Contexts {
  if (text.trim() === '') return { file, current: undefined, contexts: new Map() };
  const { root, faults } = parseYaml(text, file);
  const [first] = faults;
  if (root === undefined) throw fault(file, first?.line, first?.message ?? 'this is not valid YAML');
  checkKeys(file, root.members, ['current-context', 'contexts']);
  const current = root.members.get('current-context');
  const entries = root.members.get('contexts');
  if (entries !== undefined && entries.kind !== 'mapping')
    throw fault(file, entries.line, 'contexts must be a mapping of names');
  const contexts = new Map([...(entries?.members ?? [])].map(([name, node]) => [name, contextOf(file, name, node)]));
  if ([...contexts.values()].some(({ password }) => password !== undefined)) checkMode(file);
  return { file, current: current === undefined ? undefined : textValue(file, 'current-context', current), contexts };
}

/** Returns the text of the file; an empty text if there is no file. */
function textOf(file: string): string {
  try {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return '';
    return readTextFile(file);
  } catch (error) {
    throw new CommandFailure(exitCode.configuration, `${file}: ${fileReason(error)}`, { cause: error });
  }
}

function contextOf(file: string, name: string, node: YamlNode): Context {
  if (node.kind !== 'mapping')
    throw fault(file, node.line, `context ${name} must be a mapping, such as {url: https://…}`);
  checkKeys(file, node.members, [...textKeys, 'insecure']);
  const texts = textKeys.flatMap((key): [TextKey, string][] => {
    const value = node.members.get(key);
    return value === undefined ? [] : [[key, textValue(file, key, value)]];
  });
  const insecure = node.members.get('insecure');
  if (insecure !== undefined && (insecure.kind !== 'scalar' || typeof insecure.value !== 'boolean'))
    throw fault(file, insecure.line, 'insecure must be true or false');
  // `texts` has only keys of the type.
  const context = Object.fromEntries(texts) as Context;
  return insecure === undefined ? context : { ...context, insecure: insecure.value === true };
}

function textValue(file: string, key: string, node: YamlNode): string {
  if (node.kind !== 'scalar' || node.value === null || typeof node.value === 'boolean')
    throw fault(file, node.line, `${key} must be a text`);
  // YAML reads 0123 as the number 83, so a password of digits needs quotes.
  if (typeof node.value === 'number') throw fault(file, node.line, `${key} is a number for YAML: write it in quotes`);
  return node.value;
}

function checkKeys(file: string, members: ReadonlyMap<string, YamlNode>, known: readonly string[]): void {
  for (const [key, { line }] of members) {
    if (known.includes(key)) continue;
    const nearest = nearestName(key, known);
    throw fault(file, line, `${key} is not a known key${nearest === undefined ? '' : `. Did you mean ${nearest}?`}`);
  }
}

/** Throws if other users have any access to a file with passwords. OpenSSH has this rule for private keys. */
function checkMode(file: string): void {
  const { mode } = statSync(file);
  if ((mode & 0o077) !== 0)
    throw fault(file, undefined, `the file has a password, and other users may read it. Run: chmod 600 '${file}'`);
}

/**
 * A command holds the lock of the file for microseconds. A killed command may leave the lock behind,
 * which then blocks other commands for 10 s. The pauses between the attempts take longer, 14 s.
 */
const MAX_ATTEMPTS = 700;
const PAUSE_MS = 20;

/**
 * Changes the file. A new file has mode 0600. Comments in the file are lost. If another command has
 * changed the file meanwhile, reads it and calls `change` again.
 * @throws {CommandFailure} if the file is invalid or cannot be written.
 * @throws the error of `change`; then the file is unchanged.
 */
export async function changeContexts(
  file: string,
  change: (contexts: Contexts) => Pick<Contexts, 'current' | 'contexts'>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const text = textOf(file);
    const { current, contexts } = change(parseContexts(file, text));
    try {
      mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
      const changed = writeYaml({ 'current-context': current, contexts: Object.fromEntries(contexts) });
      replaceFile(file, changed, { basedOn: text });
      return;
    } catch (error) {
      if (!(error instanceof FileChangedError) || attempt >= MAX_ATTEMPTS)
        throw new CommandFailure(exitCode.configuration, `writing ${file}: ${fileReason(error)}`, { cause: error });
    }
    await delay(PAUSE_MS);
  }
}
