/** Makes deployments from the entries of `model_list` and the settings that they inherit. */
import type { Deployment } from '../../providers/deployment.js';
import { findBlock, hasValues, type FoundBlock } from '../blocks.js';
import { readBlock } from '../faults.js';
import type { Steps } from '@rackless/daemon/process/slices.js';
import { isForThisEnvironment } from './environments.js';
import { deploymentIdOf, readParams, type Inherited, type Unserved } from './params.js';
import { entryTable } from '../settings.js';
import { entryNames, reportUnknownKeys } from '../names/unknown-keys.js';
import type { KeyPath, YamlMapping, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

/** Settings and credentials that entries inherit or refer to. */
interface ListInherited extends Inherited {
  /** The mapping `credential_values` by `credential_name`. */
  readonly credentials: ReadonlyMap<string, YamlMapping>;
}

/** The result of reading `model_list`. */
interface ModelList {
  readonly deployments: readonly Deployment[];
  /** Public names that cannot be served, with the reason. */
  readonly unserved: ReadonlyMap<string, string>;
}

/** An entry and its place. */
export interface Entry {
  readonly node: YamlNode;
  readonly path: KeyPath;
}

const PARAMS = 'litellm_params';

/**
 * Reads the entries and adds faults and warnings. An entry gives no deployment if it is not a mapping, has no name or
 * no params, has a faulty target, is for another environment, or has a model that the proxy cannot serve. Can pause
 * before each entry.
 */
export function* readModelList(entries: readonly Entry[], inherited: ListInherited): Steps<ModelList> {
  const deployments: Deployment[] = [];
  const unserved = new Map<string, string>();
  const ids = new Map<string, Entry>();
  for (const entry of entries) {
    yield;
    const read = readEntry(entry, inherited);
    if (read === undefined) continue;
    if ('reason' in read) {
      unserved.set(read.modelName, read.reason);
      continue;
    }
    // The digest leaves out keys, limits and timeouts. Deployments that differ only in these need different ids.
    let id = read.id;
    for (let copy = 2; ids.has(id); copy += 1) {
      const other = ids.get(id);
      if (other !== undefined && read.modelInfo['id'] !== undefined) {
        const { findings } = inherited;
        findings.fault(entry.node, [...entry.path, 'model_info', 'id'], `is also the id on line ${other.node.line}`);
        break;
      }
      id = deploymentIdOf([read.id, copy]);
    }
    ids.set(id, entry);
    deployments.push({ ...read, id });
  }
  // A name counts as served if another deployment serves it.
  for (const { modelName } of deployments) unserved.delete(modelName);
  return { deployments, unserved };
}

function readEntry({ node, path }: Entry, inherited: ListInherited): Deployment | Unserved | undefined {
  const { findings, ignoredSettings } = inherited;
  if (node.kind !== 'mapping') {
    findings.fault(node, path, 'must be a mapping with model_name and litellm_params');
    return undefined;
  }
  const entry = readBlock(entryTable, node, path, findings);
  const { modelName } = entry.values;
  if (modelName === undefined && !entry.places.has('modelName'))
    findings.fault(node, path, 'model_name is missing: the name that clients send');
  const faultsBefore = findings.faultCount;
  const found = findBlock(
    node,
    path,
    {
      names: [PARAMS, 'params'],
      looksLike: (block) => hasValues(block, 'model') && (hasValues(block, 'api_base') || hasValues(block, 'base_url')),
      isTaken: (name) => name === 'model_info',
    },
    findings,
  );
  const isParams = (key: string) => key === PARAMS || key === 'params' || key === found?.path.at(-1);
  reportUnknownKeys(
    entry.rest.filter(([key]) => !isParams(key)),
    path,
    entryNames,
    { findings, ignoredSettings },
  );
  if (found === undefined) {
    // A fault of findBlock explains why there is no block. A fault of an unknown key may explain it too.
    if (findings.faultCount === faultsBefore)
      findings.fault(node, path, `${PARAMS} is missing: the mapping with the model and its address`);
    return undefined;
  }
  if (!isForThisEnvironment(entry.values.modelInfo ?? {}, { node, path }, inherited)) return undefined;
  const params = withCredential(found, inherited);
  // Without a name, the params are still read, so that their faults are reported as well.
  const read = readParams({
    modelName: modelName ?? '',
    modelInfo: entry.values.modelInfo ?? {},
    entryLimits: entry.values,
    params,
    inherited,
  });
  return modelName === undefined ? undefined : read;
}

/**
 * Returns the params with the values of the credential that they name. Values of the params have precedence. Adds a
 * fault, and returns the params unchanged, if there is no such credential.
 */
function withCredential(params: FoundBlock, { credentials, findings }: ListInherited): FoundBlock {
  const { members: own } = params.node;
  const key = own.has('litellm_credential_name') ? 'litellm_credential_name' : 'credential_name';
  const name = own.get(key);
  if (name?.kind !== 'scalar' || typeof name.value !== 'string') return params;
  const credential = credentials.get(name.value);
  if (credential === undefined) {
    findings.fault(name, [...params.path, key], `there is no ${JSON.stringify(name.value)} in credential_list`);
    return params;
  }
  const members = new Map([...credential.members, ...own]);
  return { node: { ...params.node, members }, path: params.path };
}
