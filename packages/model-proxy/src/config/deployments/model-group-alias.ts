/** Reads `router_settings.model_group_alias`: alternative names of model groups. */
import type { Deployment } from '../../providers/deployment.js';
import { wildcardPattern } from '../../routing/wildcard.js';
import type { Block, Findings } from '../faults.js';
import type { routerTable } from '../routing/router-table.js';

/** All aliases of a configuration. */
interface Aliases {
  /** Maps a public name to its model group. */
  readonly groups: ReadonlyMap<string, string>;
  /** Aliases that `/v1/models` does not list. */
  readonly hidden: ReadonlySet<string>;
}

/**
 * Reads both forms, `name: group` and `name: {model: group, hidden: true}`. Other forms are faults. An unknown group
 * causes a warning.
 */
export function readAliases(
  { values, places }: Block<typeof routerTable>,
  deployments: readonly Deployment[],
  findings: Findings,
): Aliases {
  const groups = new Map<string, string>();
  const hidden = new Set<string>();
  const place = places.get('modelGroupAlias');
  if (place?.node.kind !== 'mapping' || values.modelGroupAlias === undefined) return { groups, hidden };
  const groupNames = new Set(deployments.map(({ modelName }) => modelName));
  const wildcards = [...groupNames].filter((name) => name.includes('*')).map(wildcardPattern);
  for (const [alias, node] of place.node.members) {
    const aliasPath = [...place.path, alias];
    const model = node.kind === 'mapping' ? node.members.get('model') : node;
    if (model?.kind !== 'scalar' || typeof model.value !== 'string' || model.value === '') {
      findings.fault(node, aliasPath, 'must be the name of a model group, or a mapping with model and hidden');
      continue;
    }
    const isHidden = node.kind === 'mapping' ? node.members.get('hidden') : undefined;
    if (isHidden?.kind === 'scalar' && isHidden.value === true) hidden.add(alias);
    const group = model.value;
    groups.set(alias, group);
    if (!groupNames.has(group) && !wildcards.some((pattern) => pattern.test(group)))
      findings.warn(node, aliasPath, `there is no ${JSON.stringify(group)} in model_list`);
  }
  return { groups, hidden };
}
