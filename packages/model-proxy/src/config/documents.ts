/** Reads the files of a configuration: the named file and the files that it includes. */
import path from 'node:path';
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import type { Findings } from './faults.js';
import { parseYaml } from '@rackless/daemon/yaml/yaml-document.js';
import type { YamlMapping, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

/**
 * The setting with further files. Their paths are relative to the file that contains the setting.
 */
const INCLUDE = 'include';

/**
 * Maximum length of one file: reading a longer file would block the process for several seconds. A
 * file with 10,000 models has about a million characters.
 */
const MAX_LENGTH = 16_000_000;
/** Maximum number of lines of one file. Empty lines and comments also take time. */
const MAX_LINES = 1_000_000;
const LF = 0x0a;
const CR = 0x0d;

/** Reads a file. @throws an error whose message is the reason. */
export type ReadText = (absolutePath: string) => string;

/**
 * Reads a file and, recursively, the files that it includes.
 * @param file as the user named it; messages use this name.
 * @returns the top-level mapping of each readable file, the named file first.
 */
export function readDocuments(
  file: string,
  directory: string,
  findings: Findings,
  readText: ReadText = readTextFile,
): readonly YamlMapping[] {
  const roots: YamlMapping[] = [];
  const seen = new Set<string>();
  const read = (name: string, includedBy: YamlNode | undefined): void => {
    const absolute = path.resolve(directory, name);
    // Reading a file twice would duplicate its models.
    if (seen.has(absolute)) return;
    seen.add(absolute);
    findings.watchedFiles.add(absolute);
    let text: string;
    try {
      text = readText(absolute);
      if (text.length > MAX_LENGTH) throw new Error('it has more than 16 million characters');
      if (hasMoreLines(text, MAX_LINES)) throw new Error('it has more than a million lines');
    } catch (error) {
      const what = `the configuration ${includedBy === undefined ? '' : `${name} `}cannot be read: ${fileReason(error)}`;
      if (includedBy === undefined) findings.faultAt({ file: name, line: 0 }, `${name}: ${what}`);
      else findings.fault(includedBy, [INCLUDE], what);
      return;
    }
    const { root, faults } = parseYaml(text, name);
    for (const { line, message } of faults)
      findings.faultAt({ file: name, line: line ?? 0 }, `${name}${line === undefined ? '' : `:${line}`}: ${message}`);
    if (root === undefined) return;
    roots.push(root);
    for (const item of includesOf(root, findings)) read(path.join(path.dirname(name), String(item.value)), item);
  };
  read(file, undefined);
  return roots;
}

function hasMoreLines(text: string, limit: number): boolean {
  let lineEnds = 0;
  for (let index = 0; index < text.length && lineEnds <= limit; index += 1) {
    const code = text.charCodeAt(index);
    // A CR before an LF belongs to the same line end.
    if (code === LF || (code === CR && text.charCodeAt(index + 1) !== LF)) lineEnds += 1;
  }
  return lineEnds > limit;
}

function includesOf(root: YamlMapping, findings: Findings) {
  const include = root.members.get(INCLUDE);
  if (include === undefined || (include.kind === 'scalar' && include.value === null)) return [];
  const items = include.kind === 'sequence' ? include.items : [include];
  return items.flatMap((item, index) => {
    if (item.kind === 'scalar' && typeof item.value === 'string' && item.value !== '') return [item];
    findings.fault(item, include.kind === 'sequence' ? [INCLUDE, index] : [INCLUDE], 'must be the path of a YAML file');
    return [];
  });
}
