/** From a public name to one deployment. */
import type { Deployment } from '../providers/deployment.js';
import { OTHER_NAMES, providerOfModel } from '../providers/model-names.js';
import type { ProxySettings } from '../settings.js';
import type { Limits } from './limits.js';
import type { Selection, Router } from './router.js';
import { bySpecificity, fillStars, wildcardPattern, type WildcardGroup } from './wildcard.js';

/** From 0 up to, not including, 1. */
export type Random = () => number;

/** Deployments of one name. */
interface Group {
  pick(): Selection;
}

/**
 * Makes the router of a configuration.
 * @param limits a deployment without room is chosen only if no other of its group has any.
 * @param random decides among deployments of one name, by their weights (LiteLLM's simple-shuffle).
 */
export function createRouter(
  settings: Pick<ProxySettings, 'deployments' | 'modelGroupAlias' | 'hiddenAliases' | 'unserved'>,
  random: Random = Math.random,
  limits: Pick<Limits, 'hasRoom'> = unlimited,
): Router {
  const { deployments, modelGroupAlias, hiddenAliases, unserved } = settings;
  const byName = new Map<string, Deployment[]>();
  for (const deployment of deployments) {
    const group = byName.get(deployment.modelName);
    if (group === undefined) byName.set(deployment.modelName, [deployment]);
    else group.push(deployment);
  }
  const exact = new Map<string, Group>();
  const wildcards: WildcardGroup[] = [];
  for (const [modelName, members] of byName) {
    if (modelName.includes('*'))
      wildcards.push({ modelName, deployments: members, pattern: wildcardPattern(modelName) });
    else exact.set(modelName, createGroup(members, random, limits));
  }
  wildcards.sort(bySpecificity);
  // A public name is what somebody chose; an id that is equal to one must not hide it.
  const byId = new Map(
    deployments
      .filter(({ modelName }) => !modelName.includes('*'))
      .map((deployment) => [deployment.id, selectionOf(deployment)]),
  );
  const aliasPatterns = [...modelGroupAlias]
    .filter(([alias]) => alias.includes('*'))
    .map(([modelName, group]) => ({ modelName, group, pattern: wildcardPattern(modelName) }))
    .sort(bySpecificity);

  const selectFromGroup = (name: string): Selection | undefined => {
    const group = exact.get(name);
    return group === undefined ? selectByWildcard(name) : group.pick();
  };
  const selectByWildcard = (name: string): Selection | undefined => {
    for (const { modelName, deployments: members, pattern } of wildcards) {
      const match = pattern.exec(name);
      if (match === null) continue;
      const deployment = pickByWeight(withRoom(members, limits), random);
      const upstreamModel = fillStars(deployment.upstreamModel, match.slice(1));
      return byProvider({ deployment, modelGroup: modelName, upstreamModel });
    }
    return undefined;
  };
  const aliasOf = (model: string) => modelGroupAlias.get(model);

  return {
    select(model) {
      const target = aliasOf(model);
      const selection =
        (target === undefined ? undefined : selectFromGroup(target)) ?? exact.get(model)?.pick() ?? byId.get(model);
      if (selection !== undefined) return selection;
      // A name of its own is not for a wildcard to take: its requests would go where nobody meant them to.
      if (unserved?.has(model) === true) return undefined;
      const wild = selectByWildcard(model);
      if (wild !== undefined) return wild;
      const pattern = aliasPatterns.find((candidate) => candidate.pattern.test(model));
      return pattern === undefined ? undefined : selectFromGroup(pattern.group);
    },
    modelNames: [
      ...new Set([
        ...byName.keys(),
        ...[...modelGroupAlias.keys()].filter((alias) => hiddenAliases?.has(alias) !== true),
      ]),
    ],
    deploymentsOf(model) {
      const name = aliasOf(model) ?? model;
      return byName.get(name) ?? byName.get(model) ?? [];
    },
  };
}

/** A deployment for any name asks the provider that the name begins with, or whose model it is; without one there is no way. */
function byProvider(selection: Selection): Selection | undefined {
  const { deployment, upstreamModel } = selection;
  const targets = deployment.byProvider;
  if (targets === undefined) return selection;
  const slash = upstreamModel.indexOf('/');
  const prefixed = slash > 0 ? targets.get(upstreamModel.slice(0, slash)) : undefined;
  if (prefixed === null) return undefined;
  if (prefixed !== undefined)
    return { ...selection, deployment: prefixed, upstreamModel: upstreamModel.slice(slash + 1) };
  const its = targets.get(providerOfModel(upstreamModel) ?? OTHER_NAMES);
  if (its === null) return undefined;
  return its === undefined ? selection : { ...selection, deployment: its };
}

function selectionOf(deployment: Deployment): Selection {
  return { deployment, modelGroup: deployment.modelName, upstreamModel: deployment.upstreamModel };
}

/** No deployment has a limit. */
const unlimited: Pick<Limits, 'hasRoom'> = { hasRoom: () => true };

function withRoom(deployments: readonly Deployment[], { hasRoom }: Pick<Limits, 'hasRoom'>): readonly Deployment[] {
  if (deployments.every(hasRoom)) return deployments;
  const some = deployments.filter(hasRoom);
  return some.length === 0 ? deployments : some;
}

function createGroup(deployments: readonly Deployment[], random: Random, limits: Pick<Limits, 'hasRoom'>): Group {
  const [first, second] = deployments;
  // One is the rule: nothing is to be decided then.
  if (first !== undefined && second === undefined) {
    const selection = selectionOf(first);
    return { pick: () => selection };
  }
  return { pick: () => selectionOf(pickByWeight(withRoom(deployments, limits), random)) };
}

/** One of them, each as often as its share of all weights. Where all weigh nothing, each as often as the others. */
function pickByWeight(deployments: readonly Deployment[], random: Random): Deployment {
  const total = deployments.reduce((sum, { weight }) => sum + weight, 0);
  let rest = random() * (total === 0 ? deployments.length : total);
  for (const deployment of deployments) {
    rest -= total === 0 ? 1 : deployment.weight;
    if (rest < 0) return deployment;
  }
  const last = deployments.at(-1);
  if (last === undefined) throw new Error('choosing a deployment: the group is empty');
  return last;
}
