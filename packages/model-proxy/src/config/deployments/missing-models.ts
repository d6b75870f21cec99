/** Rejects a configuration without models, and names the key that was probably meant. */
import { nearestName } from '@rackless/daemon/text/nearest-name.js';
import { COMMAND_LINE, type Findings } from '../faults.js';
import type { KeyPath, YamlMapping, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

const MODEL_LIST = 'model_list';

/**
 * Adds the fault of a configuration without entries in `model_list`.
 * @param file as given; undefined if there is no file.
 * @param isKnown returns whether a top-level key is a setting.
 */
export function noteMissingModels(
  roots: readonly YamlMapping[],
  file: string | undefined,
  isKnown: (key: string) => boolean,
  findings: Findings,
): void {
  for (const root of roots) {
    const meant = misplacedList(root, isKnown);
    if (meant === undefined) continue;
    const { node, path, remedy } = meant;
    findings.fault(node, path, `is ignored, and there is no ${MODEL_LIST}: ${remedy}`);
    return;
  }
  const empty = roots.map((root) => root.members.get(MODEL_LIST)).find((node) => node !== undefined);
  if (empty !== undefined) {
    findings.fault(empty, [MODEL_LIST], 'has no entry: there is no model to serve');
    return;
  }
  findings.faultAt(
    file === undefined ? COMMAND_LINE : { file, line: 0 },
    `${file ?? COMMAND_LINE.file}: there is no ${MODEL_LIST}: add it with the models to serve`,
  );
}

interface Misplaced {
  readonly node: YamlNode;
  readonly path: KeyPath;
  readonly remedy: string;
}

function misplacedList(root: YamlMapping, isKnown: (key: string) => boolean): Misplaced | undefined {
  const members = [...root.members];
  const others = members.filter(([key]) => !isKnown(key));
  const misnamed =
    others.find(([key]) => nearestName(key, [MODEL_LIST]) !== undefined) ??
    others.find(([, node]) => listsModels(node));
  if (misnamed !== undefined) {
    const [key, node] = misnamed;
    return { node, path: [key], remedy: `rename it to ${MODEL_LIST}` };
  }
  for (const [key, node] of members) {
    const inner = node.kind === 'mapping' ? node.members.get(MODEL_LIST) : undefined;
    if (inner !== undefined)
      return { node: inner, path: [key, MODEL_LIST], remedy: 'move it to the top level of the file' };
  }
  return undefined;
}

function listsModels(node: YamlNode): boolean {
  return (
    node.kind === 'sequence' &&
    node.items.some(
      (item) => item.kind === 'mapping' && (item.members.has('model_name') || item.members.has('litellm_params')),
    )
  );
}
