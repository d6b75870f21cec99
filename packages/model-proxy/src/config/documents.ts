/** Reads the documents of a configuration: flags, the named file, and the files that it includes. */
import path from 'node:path';
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import { parseYaml, type YamlDocument } from '@rackless/daemon/yaml/yaml-document.js';
import type { YamlMapping, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';
import { singleModelDocument } from './deployments/single-model.js';
import { COMMAND_LINE, type Findings } from './faults.js';
import type { Flags } from './listen-settings.js';

/**
 * The setting with further files. Their paths are relative to the folder of the file that contains the setting.
 */
const INCLUDE = 'include';

/**
 * Maximum length of one file: a longer file would need several seconds and much memory. A file with
 * 10,000 models has about a million characters.
 */
const MAX_LENGTH = 16_000_000;
/** Maximum number of lines of one file. Empty lines and comments also take time. */
const MAX_LINES = 1_000_000;
const LF = 0x0a;
const CR = 0x0d;

/** Reads a file. @throws an error whose message is the reason. */
export type ReadText = (absolutePath: string) => string;

/** Options of {@link readDocuments}. */
interface DocumentOptions {
  /** Path of the file as the user named it; messages use this name. undefined: the flags name the only model. */
  readonly file?: string | undefined;
  readonly flags: Flags;
  /** Base of relative paths. */
  readonly workingDirectory: string;
  /** Default: from the disk. */
  readonly readText?: ReadText | undefined;
}

/** A text that must be parsed, and the name of its file. */
type Source = readonly [text: string, file: string];
/** A reading of documents. It yields each text, and the caller passes the parsed document to `next`. */
type Reading<Result> = Generator<Source, Result, YamlDocument>;

/**
 * Reads the flags that have counterparts in a file, the named file and, recursively, the files that it includes.
 * @returns the top-level mapping of each readable document. An earlier document has precedence.
 */
export function readDocuments(options: DocumentOptions, findings: Findings): readonly YamlMapping[] {
  const reading = readAll(options, findings);
  let step = reading.next();
  while (step.done !== true) step = reading.next(parseYaml(...step.value));
  return step.value;
}

/** Reads the documents as {@link readDocuments} does, with another parser. */
export async function readDocumentsWith(
  parse: (text: string, file: string) => Promise<YamlDocument>,
  options: DocumentOptions,
  findings: Findings,
): Promise<readonly YamlMapping[]> {
  const reading = readAll(options, findings);
  let step = reading.next();
  while (step.done !== true) step = reading.next(await parse(...step.value));
  return step.value;
}

function* readAll({ file, flags, ...options }: DocumentOptions, findings: Findings): Reading<readonly YamlMapping[]> {
  if (file === '') {
    findings.faultAt(COMMAND_LINE, 'command line: --config must be the path of a YAML file');
    return [];
  }
  const documents = file === undefined ? [] : yield* readFiles(file, options, findings);
  const single = singleModelDocument(flags, findings);
  // The earlier document has precedence, so a flag overrides the file.
  if (single !== undefined) return [single, ...documents];
  if (file === undefined)
    findings.faultAt(COMMAND_LINE, 'command line: --config FILE is required, or --model for a single model');
  return documents;
}

/** Reads a file, then the files that it includes. Reads each file once. */
function* readFiles(
  file: string,
  { workingDirectory, readText = readTextFile }: Pick<DocumentOptions, 'workingDirectory' | 'readText'>,
  findings: Findings,
): Reading<readonly YamlMapping[]> {
  const roots: YamlMapping[] = [];
  const seen = new Set<string>();
  function* read(name: string, includedBy: YamlNode | undefined): Reading<void> {
    const absolute = path.resolve(workingDirectory, name);
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
    const { root, faults } = yield [text, name];
    for (const { line, message } of faults)
      findings.faultAt({ file: name, line: line ?? 0 }, `${name}${line === undefined ? '' : `:${line}`}: ${message}`);
    if (root === undefined) return;
    roots.push(root);
    for (const item of includesOf(root, findings)) yield* read(path.join(path.dirname(name), String(item.value)), item);
  }
  yield* read(file, undefined);
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
