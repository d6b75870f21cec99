/**
 * Reports keys that are not in the table of their block: LiteLLM's settings that the proxy does not
 * implement, settings of other blocks, misspelled names and unknown names.
 */
import { nearestName } from '@rackless/daemon/text/nearest-name.js';
import type { Findings, Table } from '../faults.js';
import { isImplementedCallback } from './callbacks.js';
import { checkedByValue, protectiveValues } from './protective-values.js';
import { routerTable } from '../routing/router-table.js';
import { entryTable, generalTable, paramsTable, settingsTable } from '../settings.js';
import { groupOf, unimplemented, type SettingGroup } from './unimplemented.js';
import { formatPath, type KeyPath, type YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

/** The names that are known in a block. */
interface BlockNames {
  /** LiteLLM's name of the block, for messages; empty: the top of the file. */
  readonly canonical: string;
  /** Names and aliases of the implemented settings. */
  readonly settings: readonly string[];
  /** Those of `settings` that restrict access. */
  readonly protecting: readonly string[];
  readonly groups: readonly SettingGroup[];
}

const namesOf = (table: Table) => Object.values(table).flatMap(({ name, aliases }) => [name, ...aliases]);
const protectingOf = (table: Table) =>
  Object.values(table).flatMap(({ name, aliases, protects }) => (protects === true ? [name, ...aliases] : []));

/** The names at the top of the file. */
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
    'callback_settings',
  ],
  protecting: [],
  groups: unimplemented.top,
};
/** The names in an entry of `model_list`. */
export const entryNames: BlockNames = {
  canonical: 'model_list[]',
  settings: [...namesOf(entryTable), 'litellm_params', 'params'],
  protecting: protectingOf(entryTable),
  groups: unimplemented.entry,
};
/** The names in `litellm_params`. */
export const paramsNames: BlockNames = {
  canonical: 'litellm_params',
  settings: namesOf(paramsTable),
  protecting: protectingOf(paramsTable),
  groups: unimplemented.params,
};
/** The names in `litellm_settings`. */
export const settingsNames: BlockNames = {
  canonical: 'litellm_settings',
  settings: namesOf(settingsTable),
  protecting: protectingOf(settingsTable),
  groups: unimplemented.settings,
};
/** The names in `general_settings`. */
export const generalNames: BlockNames = {
  canonical: 'general_settings',
  settings: namesOf(generalTable),
  protecting: protectingOf(generalTable),
  groups: unimplemented.general,
};
/** The names in `router_settings`. */
export const routerNames: BlockNames = {
  canonical: 'router_settings',
  settings: namesOf(routerTable),
  protecting: protectingOf(routerTable),
  groups: unimplemented.router,
};

const allBlocks = [settingsNames, generalNames, routerNames, paramsNames, entryNames];

/**
 * Collects ignored settings for one warning per file. Also stores the names in `start_without`: restrictions
 * that the proxy may ignore.
 */
export class IgnoredSettings {
  readonly #byFile = new Map<string, string[]>();
  #allowed: ReadonlySet<string> = new Set();

  /** Stores the restrictions that the proxy may ignore. @param names the names in `general_settings.start_without`. */
  allowIgnoring(names: readonly string[]): void {
    this.#allowed = new Set(names);
  }

  mayIgnore(name: string): boolean {
    return this.#allowed.has(name);
  }

  add(node: YamlNode, path: KeyPath): void {
    const list = this.#byFile.get(node.file) ?? [];
    list.push(`${formatPath(path)}${node.line === 0 ? '' : ` (line ${node.line})`}`);
    this.#byFile.set(node.file, list);
  }

  get warnings(): readonly string[] {
    return [...this.#byFile].map(([file, list]) => `${file}: not implemented, ignored: ${list.join(', ')}`);
  }
}

/** The collectors of findings about settings. */
export interface Notes {
  readonly findings: Findings;
  readonly ignoredSettings: IgnoredSettings;
  /** Names of the callbacks in `callback_settings` that are implemented; absent: none. */
  readonly callbacks?: ReadonlySet<string>;
}

const noCallbacks: ReadonlySet<string> = new Set();

/**
 * Returns whether ignoring a value changes nothing: it is null, false, 0 or an empty list or mapping, or requests only
 * what the proxy does (an implemented callback, the default strategy).
 */
function requestsNothing(key: string, node: YamlNode, callbacks: ReadonlySet<string>): boolean {
  if (node.kind === 'sequence') return node.items.every((item) => isImplementedCallback(key, item, callbacks));
  if (node.kind === 'mapping') return node.members.size === 0;
  if (node.value === null || node.value === false || node.value === 0) return true;
  return isImplementedCallback(key, node, callbacks) || (key === 'routing_strategy' && node.value === 'simple-shuffle');
}

/**
 * Like {@link requestsNothing}, for restrictions: a limit of 0 and an empty list of allowed values
 * do restrict.
 */
function restrictsNothing(key: string, node: YamlNode): boolean {
  if (node.kind === 'scalar') return node.value === null || node.value === false;
  return requestsNothing(key, node, noCallbacks) && !key.startsWith('allowed_');
}

/** Adds the fault of an unimplemented restriction, unless `start_without` names it. */
export function refuseSetting(
  name: string,
  node: YamlNode,
  path: KeyPath,
  what: string,
  { findings, ignoredSettings }: Notes,
) {
  if (ignoredSettings.mayIgnore(name)) ignoredSettings.add(node, path);
  else
    findings.fault(
      node,
      path,
      `${what}, and this is not implemented: remove it, or name ${name} in general_settings.start_without`,
    );
}

/**
 * Reports one of LiteLLM's unimplemented settings: as a fault, in the warning of the file, or not at all.
 * @returns false if the key is not such a setting.
 */
function noteUnimplemented(key: string, node: YamlNode, path: KeyPath, names: BlockNames, notes: Notes): boolean {
  const { callbacks = noCallbacks } = notes;
  const group = groupOf(names.groups, key);
  switch (group?.treatment) {
    case 'fulfilled':
      return true;
    case 'refused':
      if (!restrictsNothing(key, node)) refuseSetting(key, node, path, group.what, notes);
      return true;
    case 'ignored':
      if (!requestsNothing(key, node, callbacks)) notes.ignoredSettings.add(node, path);
      return true;
    case undefined:
      break;
  }
  if (names.canonical === paramsNames.canonical || !checkedByValue.has(key)) return false;
  const refused = protectiveValues(key, node);
  for (const value of refused) refuseSetting(key, value.node, [...path, ...value.path], value.what, notes);
  if (refused.length === 0 && !requestsNothing(key, node, callbacks)) notes.ignoredSettings.add(node, path);
  return true;
}

/** Returns the block in which a key restricts access; undefined if there is none. */
function protectedBlock(key: string): BlockNames | undefined {
  return allBlocks.find(
    ({ protecting, groups }) => protecting.includes(key) || groupOf(groups, key)?.treatment === 'refused',
  );
}

/**
 * Reports an unknown key. It is a fault if the key was probably meant to restrict access, otherwise
 * a warning.
 */
function reportUnknownKey(
  key: string,
  node: YamlNode,
  path: KeyPath,
  names: BlockNames,
  { findings }: Notes,
  near: string | undefined,
): void {
  const elsewhere = allBlocks.find((block) => block !== names && block.settings.includes(key)) ?? protectedBlock(key);
  if (elsewhere !== undefined) {
    const block = elsewhere.canonical;
    // The proxy reads LITELLM_MASTER_KEY even if no line names it, so the key is set although this line is in the
    // wrong block.
    const isKeySet = key === 'master_key' && node.kind === 'scalar' && node.variable === 'LITELLM_MASTER_KEY';
    if (protectedBlock(key) !== undefined && !isKeySet && !restrictsNothing(key, node))
      findings.fault(node, path, `restricts access only in ${block}: move it there`);
    else findings.warn(node, path, `is not known here; it belongs to ${block}`);
    return;
  }
  if (near === undefined) return;
  const isRestriction = names.protecting.includes(near) || groupOf(names.groups, near)?.treatment === 'refused';
  // A much longer or shorter name is a different setting, not a misspelled one.
  if (isRestriction && Math.abs(near.length - key.length) <= 2 && !restrictsNothing(key, node))
    findings.fault(node, path, `is not known; ${near}, which it may mean, restricts access: correct it or remove it`);
  else findings.warn(node, path, `is not known; the nearest known name is ${near}`);
}

/** The results of {@link intendedNames}, stored because a file may have 10,000 blocks. */
const cachedNames = new Map<BlockNames, readonly string[]>();

/**
 * Returns all names that a misspelled name in a block may mean.
 * @param parameters further names. All calls with the same `names` must pass the same, because results are stored.
 */
function intendedNames(names: BlockNames, parameters: readonly string[]): readonly string[] {
  const found = cachedNames.get(names);
  if (found !== undefined) return found;
  const unimplementedNames = names.groups.flatMap((group) => (group.treatment === 'fulfilled' ? [] : [...group.names]));
  const isParams = names.canonical === paramsNames.canonical;
  const all = [...names.settings, ...unimplementedNames, ...(isParams ? [] : checkedByValue), ...parameters];
  cachedNames.set(names, all);
  return all;
}

/**
 * Reports the keys that are not in a block's table.
 * @returns the keys that no block knows and that are not similar to a known name. For `litellm_params`, the caller
 *   handles these keys; for other blocks, this function has warned of them.
 */
export function reportUnknownKeys(
  rest: readonly (readonly [string, YamlNode])[],
  path: KeyPath,
  names: BlockNames,
  notes: Notes & { readonly parameters?: readonly string[] },
): readonly (readonly [string, YamlNode])[] {
  const { findings, parameters = [] } = notes;
  const isParams = names.canonical === paramsNames.canonical;
  const unknown: (readonly [string, YamlNode])[] = [];
  for (const [key, node] of rest) {
    const at = [...path, key];
    if (noteUnimplemented(key, node, at, names, notes)) continue;
    const near = nearestName(key, intendedNames(names, parameters));
    const isElsewhere = allBlocks.some((block) => block !== names && block.settings.includes(key));
    if (near !== undefined || isElsewhere || protectedBlock(key) !== undefined)
      reportUnknownKey(key, node, at, names, notes, near);
    else {
      if (!isParams) findings.warn(node, at, 'is not known');
      unknown.push([key, node]);
    }
  }
  return unknown;
}

/** Returns whether a name is valid in `general_settings.start_without`. */
export function canBeRefused(name: string): boolean {
  return (
    checkedByValue.has(name) ||
    Object.values(unimplemented).some((groups) => groupOf(groups, name)?.treatment === 'refused')
  );
}
