/** Reads a machine file: the machines in memory, with their delays and failures. */
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import { parseYaml } from '@rackless/daemon/yaml/yaml-document.js';
import { describeNode, formatPath, nodeAt, toPlain, type YamlMapping } from '@rackless/daemon/yaml/yaml-node.js';
import type { FakePlan } from '../../drivers/fake/fake-plan.js';
import { expandEntries, type FileMachines } from './expand-entries.js';
import { machineFile } from './file-schema.js';
import { failuresOf } from './planned-failures.js';

/** The contents of a machine file. */
export interface MachineFile extends FileMachines {
  readonly plan: FakePlan;
}

/** All faults of a machine file. */
export class MachineFileError extends Error {
  override readonly name = 'MachineFileError';
  /** One line each, which begins with the file, such as `lab.yaml:7: machines[0].count must be …`. */
  readonly faults: readonly string[];

  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(faults.join('; '), options);
    this.faults = faults;
  }
}

/**
 * Reads a file in YAML or JSON.
 * @throws {MachineFileError}
 */
export function readMachineFile(file: string): MachineFile {
  const root = parseMapping(file);
  const given = machineFile.safeParse(toPlain(root));
  const faultAt = (path: readonly PropertyKey[], message: string): string =>
    `${file}:${nodeAt(root, path).line}: ${path.length === 0 ? 'the file' : formatPath(path)} ${message}`;
  if (!given.success)
    throw new MachineFileError(
      given.error.issues.flatMap((issue) => {
        if (issue.code === 'unrecognized_keys')
          return issue.keys.map((key) => faultAt([...issue.path, key], 'is not a known member'));
        const node = nodeAt(root, issue.path);
        if (issue.code === 'custom') {
          const found = issue.message.startsWith('must be') ? `, not ${describeNode(node)}` : '';
          return faultAt(issue.path, `${issue.message}${found}`);
        }
        // The issue is about a list or a mapping, because the schema of each scalar has its own message (`custom`).
        const expected = issue.code === 'invalid_type' && issue.expected === 'array' ? 'a list' : 'a mapping';
        return faultAt(issue.path, `must be ${expected}, not ${describeNode(node)}`);
      }),
    );
  const { seed = 0, delays = {}, failures = [], machines } = given.data;
  const common = failuresOf(failures, ['failures']);
  const faults: string[] = [];
  const expanded = expandEntries(machines, {
    delays,
    failures: common.filter(({ operation }) => operation !== 'list'),
    onFault: (path, message) => void faults.push(faultAt(['machines', ...path], message)),
  });
  if (faults.length > 0) throw new MachineFileError(faults);
  const list = common.filter(({ operation }) => operation === 'list');
  return { ...expanded, plan: { seed, machines: expanded.plans, list } };
}

/** @throws {MachineFileError} if the file cannot be read, or is not a mapping in YAML. */
function parseMapping(file: string): YamlMapping {
  let text: string;
  try {
    text = readTextFile(file);
  } catch (error) {
    throw new MachineFileError([`${file} cannot be read: ${fileReason(error)}`], { cause: error });
  }
  const { root, faults } = parseYaml(text, file);
  if (root !== undefined) return root;
  throw new MachineFileError(
    faults.map(({ line, message }) => `${file}${line === undefined ? '' : `:${line}`}: ${message}`),
  );
}
