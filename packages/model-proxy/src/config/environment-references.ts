/**
 * Resolves values `os.environ/NAME`, which refer to environment variables. Every value of a
 * configuration may be such a reference.
 */
import type { Steps } from '@rackless/daemon/process/slices.js';
import type { Environment } from '../settings.js';
import type { Findings } from './faults.js';
import type { KeyPath, YamlMapping, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

const PREFIX = 'os.environ/';

/**
 * Replaces references by the values of the variables. A reference to a variable that is not set is
 * a fault. Can pause before each item of a top-level list.
 */
export function* resolveInSteps(root: YamlMapping, environment: Environment, findings: Findings): Steps<YamlMapping> {
  const members = new Map<string, YamlNode>();
  for (const [key, member] of root.members) {
    if (member.kind !== 'sequence') {
      members.set(key, resolve(member, environment, findings, [key]));
      continue;
    }
    const items: YamlNode[] = [];
    for (const item of member.items) {
      yield;
      items.push(resolve(item, environment, findings, [key, items.length]));
    }
    members.set(key, { ...member, items });
  }
  return { ...root, members };
}

function resolveMapping(node: YamlMapping, environment: Environment, findings: Findings, path: KeyPath): YamlMapping {
  const members = new Map<string, YamlNode>();
  for (const [key, member] of node.members) members.set(key, resolve(member, environment, findings, [...path, key]));
  return { ...node, members };
}

function resolve(node: YamlNode, environment: Environment, findings: Findings, path: KeyPath): YamlNode {
  if (node.kind === 'mapping') return resolveMapping(node, environment, findings, path);
  if (node.kind === 'sequence') {
    const items = node.items.map((item, index) => resolve(item, environment, findings, [...path, index]));
    return { ...node, items };
  }
  if (typeof node.value !== 'string' || !node.value.startsWith(PREFIX)) return node;
  const variable = node.value.slice(PREFIX.length).trim();
  const text = environment[variable];
  if (text === undefined) {
    findings.fault(
      node,
      path,
      variable === ''
        ? `${PREFIX} must be followed by the name of an environment variable`
        : `the environment variable ${variable} is not set`,
    );
    // The value is unknown, so no other check may report a fault about it.
    return { ...node, value: null, unresolved: true };
  }
  return { ...node, value: text, variable };
}

/**
 * Returns the variables of the process, overridden by those of the block `environment_variables`, as in LiteLLM.
 * The values of the block may refer to variables of the process. A list or a mapping is a fault.
 */
export function withVariables(
  environment: Environment,
  block: YamlMapping | undefined,
  path: KeyPath,
  findings: Findings,
): Environment {
  if (block === undefined) return environment;
  const blockVariables: Record<string, string> = {};
  for (const [name, member] of resolveMapping(block, environment, findings, path).members) {
    if (member.kind !== 'scalar') findings.fault(member, [...path, name], 'must be a string, a number or a boolean');
    else if (member.value !== null) blockVariables[name] = String(member.value);
  }
  return { ...environment, ...blockVariables };
}
