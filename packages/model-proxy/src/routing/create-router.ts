/** Selects a deployment for a public model name. */
import type { Steps } from '@rackless/daemon/process/slices.js';
import type { Deployment } from '../providers/deployment.js';
import { OTHER_NAMES, providerOfModel } from '../providers/model-names.js';
import type { ProxySettings } from '../settings.js';
import { choose, type ChoiceInput } from './choice.js';
import type { RoutedRequest, Selection, Router } from './router.js';
import type { Random } from './strategies.js';
import { bySpecificity, fillStars, wildcardPattern, type WildcardGroup } from './wildcard.js';

/** The state that the choice depends on. */
type ChoiceState = Pick<ChoiceInput, 'limits' | 'health' | 'latencies'>;

/** Creates the router of a configuration. Can pause after each deployment. */
export function* createRouter(
  settings: Pick<ProxySettings, 'deployments' | 'modelGroupAlias' | 'hiddenAliases' | 'unserved' | 'strategy'>,
  { limits, health, latencies }: ChoiceState,
  random: Random = Math.random,
): Steps<Router> {
  const { deployments, modelGroupAlias, hiddenAliases, unserved, strategy } = settings;
  const { byName, exact, byId, wildcards } = yield* indexOf(deployments);
  const aliasPatterns = [...modelGroupAlias]
    .filter(([alias]) => alias.includes('*'))
    .map(([modelName, group]) => ({ modelName, group, pattern: wildcardPattern(modelName) }))
    .sort(bySpecificity);

  const byWildcard = (name: string): readonly Selection[] | undefined => {
    for (const { modelName, deployments: members, pattern } of wildcards) {
      const match = pattern.exec(name);
      if (match === null) continue;
      const found = members.flatMap((deployment) => {
        const upstreamModel = fillStars(deployment.upstreamModel, match.slice(1));
        return byProvider({ deployment, modelGroup: modelName, upstreamModel }) ?? [];
      });
      return found.length === 0 ? undefined : found;
    }
    return undefined;
  };
  const ofGroup = (name: string) => exact.get(name) ?? byWildcard(name);
  const aliasOf = (model: string) => modelGroupAlias.get(model);
  const candidates = (model: string): readonly Selection[] => {
    const target = aliasOf(model);
    const named = (target === undefined ? undefined : ofGroup(target)) ?? exact.get(model) ?? byId.get(model);
    if (named !== undefined) return named;
    // Wildcards must not match the name of an unserved model: the request would go to an
    // unintended upstream.
    if (unserved?.has(model) === true) return [];
    const matched = byWildcard(model);
    if (matched !== undefined) return matched;
    const pattern = aliasPatterns.find((candidate) => candidate.pattern.test(model));
    return (pattern === undefined ? undefined : ofGroup(pattern.group)) ?? [];
  };

  return {
    select(model, accepts, { session, streams } = anyRequest) {
      const all = candidates(model);
      const accepted = accepts === undefined ? all : all.filter(accepts);
      if (accepted.length < 2) return accepted[0];
      return choose(accepted, { random, limits, health, latencies, settings: strategy, session, streams });
    },
    candidates,
    modelNames: [
      ...byName.keys(),
      ...[...modelGroupAlias.keys()].filter((alias) => !byName.has(alias) && hiddenAliases?.has(alias) !== true),
    ],
    deploymentsOf(model) {
      const name = aliasOf(model) ?? model;
      return byName.get(name) ?? byName.get(model) ?? [];
    },
  };
}

/** Indexes deployments by public name and by id. */
function* indexOf(deployments: readonly Deployment[]) {
  const byName = new Map<string, Deployment[]>();
  const exact = new Map<string, Selection[]>();
  // A public name has priority over an equal deployment id: the operator chose the name, and an id
  // may be a digest.
  const byId = new Map<string, readonly Selection[]>();
  for (const deployment of deployments) {
    const { modelName, id } = deployment;
    listIn(byName, modelName).push(deployment);
    if (!modelName.includes('*')) {
      const selection = selectionOf(deployment);
      listIn(exact, modelName).push(selection);
      byId.set(id, [selection]);
    }
    yield;
  }
  const wildcards: WildcardGroup[] = [];
  for (const [modelName, members] of byName) {
    if (modelName.includes('*'))
      wildcards.push({ modelName, deployments: members, pattern: wildcardPattern(modelName) });
  }
  wildcards.sort(bySpecificity);
  return { byName, exact, byId, wildcards };
}

/** Returns the list of a key, and adds an empty list if there is none. */
function listIn<Item>(lists: Map<string, Item[]>, key: string): Item[] {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, (list = []));
  return list;
}

/**
 * Resolves a deployment for any provider (`model: "*"`): by the name's provider prefix, or by the
 * provider that serves a model of this name. Returns the selections of other deployments unchanged.
 * @returns undefined if the proxy does not support that provider.
 */
function byProvider(selection: Selection): Selection | undefined {
  const { deployment, upstreamModel } = selection;
  const targets = deployment.byProvider;
  if (targets === undefined) return selection;
  const slash = upstreamModel.indexOf('/');
  const prefixed = slash > 0 ? targets.get(upstreamModel.slice(0, slash)) : undefined;
  if (prefixed === null) return undefined;
  if (prefixed !== undefined)
    return { ...selection, deployment: prefixed, upstreamModel: upstreamModel.slice(slash + 1) };
  const target = targets.get(providerOfModel(upstreamModel) ?? OTHER_NAMES);
  if (target === null) return undefined;
  return target === undefined ? selection : { ...selection, deployment: target };
}

function selectionOf(deployment: Deployment): Selection {
  return { deployment, modelGroup: deployment.modelName, upstreamModel: deployment.upstreamModel };
}

/** A request without affinity, and without a stream. */
const anyRequest: RoutedRequest = { session: null, streams: false };
