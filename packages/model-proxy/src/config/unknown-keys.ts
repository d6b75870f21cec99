/** What is said of keys that no table has: nothing is ignored in silence that somebody may rely on. */
import { nearestName } from '@rackless/daemon/nearest-name.js';
import type { Findings, Table } from './faults.js';
import {
  knownEntryNames,
  knownGeneralNames,
  knownParamsNames,
  knownRouterNames,
  knownSettingsNames,
  knownTopNames,
  type KnownNames,
} from './known-names.js';
import { entryTable, generalTable, paramsTable, routerTable, settingsTable } from './settings.js';
import { formatPath, type KeyPath, type YamlNode } from './yaml-node.js';

/** A block and the names that are known in it. */
export interface BlockNames {
  readonly canonical: string;
  readonly settings: readonly string[];
  readonly known: KnownNames;
}

const namesOf = (table: Table) => Object.values(table).flatMap(({ name, aliases }) => [name, ...aliases]);

export const topNames: BlockNames = {
  canonical: '',
  settings: [
    'model_list',
    'litellm_settings',
    'settings',
    'general_settings',
    'general',
    'router_settings',
    'router',
    'environment_variables',
    'include',
    'credential_list',
  ],
  known: knownTopNames,
};
export const entryNames: BlockNames = {
  canonical: 'model_list[]',
  settings: [...namesOf(entryTable), 'litellm_params', 'params'],
  known: knownEntryNames,
};
export const paramsNames: BlockNames = {
  canonical: 'litellm_params',
  settings: namesOf(paramsTable),
  known: knownParamsNames,
};
export const settingsNames: BlockNames = {
  canonical: 'litellm_settings',
  settings: namesOf(settingsTable),
  known: knownSettingsNames,
};
export const generalNames: BlockNames = {
  canonical: 'general_settings',
  settings: namesOf(generalTable),
  known: knownGeneralNames,
};
export const routerNames: BlockNames = {
  canonical: 'router_settings',
  settings: namesOf(routerTable),
  known: knownRouterNames,
};

const allBlocks = [settingsNames, generalNames, routerNames, paramsNames, entryNames];

/** Collects what is known and not built, to be said in one line for each file. */
export class NotBuilt {
  readonly #byFile = new Map<string, string[]>();

  add(node: YamlNode, path: KeyPath): void {
    const list = this.#byFile.get(node.file) ?? [];
    list.push(`${formatPath(path)} (line ${node.line})`);
    this.#byFile.set(node.file, list);
  }

  get warnings(): readonly string[] {
    return [...this.#byFile].map(([file, list]) => `${file}: not built yet, ignored: ${list.join(', ')}`);
  }
}

/** A value that asks for nothing: to ignore it changes nothing. */
function asksForNothing(key: string, node: YamlNode): boolean {
  if (node.kind === 'sequence') return node.items.every((item) => isPrometheus(key, item));
  if (node.kind === 'mapping') return node.members.size === 0;
  if (node.value === null || node.value === false || node.value === 0) return true;
  return isPrometheus(key, node) || (key === 'routing_strategy' && node.value === 'simple-shuffle');
}

/** `/metrics` is always there. */
function isPrometheus(key: string, node: YamlNode): boolean {
  return /callbacks?$/.test(key) && node.kind === 'scalar' && node.value === 'prometheus';
}

/**
 * Says what there is to say of keys that a block's table does not have.
 * @returns those that nobody knows and that are near to no known name.
 */
export function noteUnknownKeys(
  rest: readonly (readonly [string, YamlNode])[],
  path: KeyPath,
  names: BlockNames,
  notes: { readonly findings: Findings; readonly notBuilt: NotBuilt; readonly parameters?: readonly string[] },
): readonly (readonly [string, YamlNode])[] {
  const { findings, notBuilt, parameters = [] } = notes;
  const { known, settings, canonical } = names;
  const unknown: (readonly [string, YamlNode])[] = [];
  for (const [key, node] of rest) {
    const at = [...path, key];
    if (known.fulfilled.has(key)) continue;
    if (known.protecting.has(key)) {
      if (!asksForNothing(key, node))
        findings.fault(node, at, 'is not built yet, and without it the proxy would be more open than this file says');
    } else if (known.notBuilt.has(key)) {
      if (!asksForNothing(key, node)) notBuilt.add(node, at);
    } else {
      const near = nearestName(key, [...settings, ...known.notBuilt, ...known.protecting, ...parameters]);
      const elsewhere = allBlocks.find((block) => block !== names && block.settings.includes(key));
      if (near !== undefined) findings.warn(node, at, `is not known; the nearest known name is ${near}`);
      else if (elsewhere !== undefined)
        findings.warn(node, at, `is not known here; it belongs to ${elsewhere.canonical}`);
      else {
        if (canonical !== paramsNames.canonical) findings.warn(node, at, 'is not known');
        unknown.push([key, node]);
      }
    }
  }
  return unknown;
}
