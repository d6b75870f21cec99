/** Keys that no table of settings has: refused, ignored with a warning, or no settings of LiteLLM's at all. */
import { nearestName } from '@rackless/daemon/nearest-name.js';
import type { Findings, Table } from './faults.js';
import { judgedByValue, protectiveValues } from './protective-values.js';
import { entryTable, generalTable, paramsTable, routerTable, settingsTable } from './settings.js';
import { groupOf, unimplemented, type SettingGroup } from './unimplemented.js';
import { formatPath, type KeyPath, type YamlNode } from './yaml-node.js';

/** A block and the names that are known in it. */
export interface BlockNames {
  readonly canonical: string;
  readonly settings: readonly string[];
  /** Those of the settings that restrict access. */
  readonly protecting: readonly string[];
  readonly groups: readonly SettingGroup[];
}

const namesOf = (table: Table) => Object.values(table).flatMap(({ name, aliases }) => [name, ...aliases]);
const protectingOf = (table: Table) =>
  Object.values(table).flatMap(({ name, aliases, protects }) => (protects === true ? [name, ...aliases] : []));

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
  protecting: [],
  groups: unimplemented.top,
};
export const entryNames: BlockNames = {
  canonical: 'model_list[]',
  settings: [...namesOf(entryTable), 'litellm_params', 'params'],
  protecting: protectingOf(entryTable),
  groups: unimplemented.entry,
};
export const paramsNames: BlockNames = {
  canonical: 'litellm_params',
  settings: namesOf(paramsTable),
  protecting: protectingOf(paramsTable),
  groups: unimplemented.params,
};
export const settingsNames: BlockNames = {
  canonical: 'litellm_settings',
  settings: namesOf(settingsTable),
  protecting: protectingOf(settingsTable),
  groups: unimplemented.settings,
};
export const generalNames: BlockNames = {
  canonical: 'general_settings',
  settings: namesOf(generalTable),
  protecting: protectingOf(generalTable),
  groups: unimplemented.general,
};
export const routerNames: BlockNames = {
  canonical: 'router_settings',
  settings: namesOf(routerTable),
  protecting: protectingOf(routerTable),
  groups: unimplemented.router,
};

const allBlocks = [settingsNames, generalNames, routerNames, paramsNames, entryNames];

/** Collects what is ignored, for one line about each file, and knows what the configuration may do without. */
export class NotBuilt {
  readonly #byFile = new Map<string, string[]>();
  #dispensable: ReadonlySet<string> = new Set();

  /** @param names of `general_settings.start_without`. */
  dispenseWith(names: readonly string[]): void {
    this.#dispensable = new Set(names);
  }

  isDispensable(name: string): boolean {
    return this.#dispensable.has(name);
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

export interface Notes {
  readonly findings: Findings;
  readonly notBuilt: NotBuilt;
}

/** A value that asks for nothing: to ignore it changes nothing. */
function asksForNothing(key: string, node: YamlNode): boolean {
  if (node.kind === 'sequence') return node.items.every((item) => isPrometheus(key, item));
  if (node.kind === 'mapping') return node.members.size === 0;
  if (node.value === null || node.value === false || node.value === 0) return true;
  return isPrometheus(key, node) || (key === 'routing_strategy' && node.value === 'simple-shuffle');
}

/** As {@link asksForNothing} for a setting that restricts: 0 restricts most, and an empty list of what is allowed allows nothing. */
function restrictsNothing(key: string, node: YamlNode): boolean {
  if (node.kind === 'scalar') return node.value === null || node.value === false;
  return asksForNothing(key, node) && !key.startsWith('allowed_');
}

/** `/metrics` is always there. */
function isPrometheus(key: string, node: YamlNode): boolean {
  return /callbacks?$/.test(key) && node.kind === 'scalar' && node.value === 'prometheus';
}

/** Refuses a setting that restricts access, unless the configuration says that it can do without. */
export function refuseSetting(
  name: string,
  node: YamlNode,
  path: KeyPath,
  what: string,
  { findings, notBuilt }: Notes,
) {
  if (notBuilt.isDispensable(name)) notBuilt.add(node, path);
  else
    findings.fault(
      node,
      path,
      `${what}, and this is not implemented: remove it, or name ${name} in general_settings.start_without`,
    );
}

/** Notes a setting of LiteLLM's that is in the table. @returns false: it is not. */
function noteUnimplemented(key: string, node: YamlNode, path: KeyPath, names: BlockNames, notes: Notes): boolean {
  const group = groupOf(names.groups, key);
  switch (group?.treatment) {
    case 'fulfilled':
      return true;
    case 'refused':
      if (!restrictsNothing(key, node)) refuseSetting(key, node, path, group.what, notes);
      return true;
    case 'ignored':
      if (!asksForNothing(key, node)) notes.notBuilt.add(node, path);
      return true;
    case undefined:
      break;
  }
  if (names.canonical === paramsNames.canonical || !judgedByValue.has(key)) return false;
  const refused = protectiveValues(key, node);
  for (const value of refused) refuseSetting(key, value.node, [...path, ...value.path], value.what, notes);
  if (refused.length === 0 && !asksForNothing(key, node)) notes.notBuilt.add(node, path);
  return true;
}

/** The block in which a key restricts access; undefined: none. */
function protectedBlock(key: string): BlockNames | undefined {
  return allBlocks.find(
    ({ protecting, groups }) => protecting.includes(key) || groupOf(groups, key)?.treatment === 'refused',
  );
}

/** Notes a name that is not known. What was probably to restrict access is a fault: the proxy would be open instead. */
function noteStranger(
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
    const isSet = key === 'master_key' && node.kind === 'scalar' && node.variable === 'LITELLM_MASTER_KEY';
    if (protectedBlock(key) !== undefined && !isSet && !restrictsNothing(key, node))
      findings.fault(node, path, `restricts access only in ${block}: move it there`);
    else findings.warn(node, path, `is not known here; it belongs to ${block}`);
    return;
  }
  if (near === undefined) return;
  const isRestriction = names.protecting.includes(near) || groupOf(names.groups, near)?.treatment === 'refused';
  // A longer name that begins with a known one is another setting, not a misspelled one.
  if (isRestriction && Math.abs(near.length - key.length) <= 2 && !restrictsNothing(key, node))
    findings.fault(node, path, `is not known; ${near}, which it may mean, restricts access: correct it or remove it`);
  else findings.warn(node, path, `is not known; the nearest known name is ${near}`);
}

/**
 * Notes what there is to say of keys that a block's table does not have.
 * @returns those that are near to no known name.
 */
export function noteUnknownKeys(
  rest: readonly (readonly [string, YamlNode])[],
  path: KeyPath,
  names: BlockNames,
  notes: Notes & { readonly parameters?: readonly string[] },
): readonly (readonly [string, YamlNode])[] {
  const { findings, parameters = [] } = notes;
  const isParams = names.canonical === paramsNames.canonical;
  const known = names.groups.flatMap((group) => (group.treatment === 'fulfilled' ? [] : [...group.names]));
  const unknown: (readonly [string, YamlNode])[] = [];
  for (const [key, node] of rest) {
    const at = [...path, key];
    if (noteUnimplemented(key, node, at, names, notes)) continue;
    const near = nearestName(key, [...names.settings, ...known, ...(isParams ? [] : judgedByValue), ...parameters]);
    const isElsewhere = allBlocks.some((block) => block !== names && block.settings.includes(key));
    if (near !== undefined || isElsewhere || protectedBlock(key) !== undefined)
      noteStranger(key, node, at, names, notes, near);
    else {
      if (!isParams) findings.warn(node, at, 'is not known');
      unknown.push([key, node]);
    }
  }
  return unknown;
}

/** Whether a name can stand in `general_settings.start_without`. */
export function canBeRefused(name: string): boolean {
  return (
    judgedByValue.has(name) ||
    Object.values(unimplemented).some((groups) => groupOf(groups, name)?.treatment === 'refused')
  );
}
