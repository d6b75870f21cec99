/** Selects the deployment of a raw request by the names in the request, or by the configuration. */
import { noDeployment, unclearDeployment } from '../errors/path.js';
import type { Deployment } from '../providers/deployment.js';
import { noDeploymentFor } from '../routing/no-deployment.js';
import type { Selection, Router } from '../routing/router.js';
import type { ProxySettings } from '../settings.js';
import type { RawFamily } from './paths.js';

/** The configuration for a selection. */
export interface SelectionContext {
  readonly settings: Pick<ProxySettings, 'deployments' | 'unserved'>;
  readonly router: Router;
  /** The deployment for OpenAI with the key in OPENAI_API_KEY; null: there is no such key. */
  readonly environmentDeployment: Deployment | null;
}

/** Path prefix → LiteLLM's names of its providers. */
const families: Readonly<Record<RawFamily, readonly string[]>> = {
  openai: ['openai', 'text-completion-openai'],
  vllm: ['hosted_vllm', 'vllm'],
  gemini: ['gemini'],
};

/**
 * Selects the deployment for `/openai/…`, `/vllm/…` and `/gemini/…`. These prefixes reach all paths of a server,
 * its administration included. So only deployments with `use_in_pass_through` are eligible, as in
 * LiteLLM. A `model` that is a public name of that provider selects its deployment. All other
 * requests go to the first eligible deployment of the provider. If there is none, requests for OpenAI
 * go to `environmentDeployment`.
 * @param path the path, for errors.
 * @returns `upstreamModel` replaces the model in the request.
 * @throws {ProxyError} 400: no deployment of that provider is eligible.
 */
export function chooseForProvider(
  family: RawFamily,
  model: string | undefined,
  path: string,
  { settings, router, environmentDeployment }: SelectionContext,
): Selection {
  const providers = families[family];
  const isEligible = ({ deployment }: Selection) =>
    deployment.useInPassThrough && providers.includes(deployment.provider.name);
  const byModel = model === undefined ? undefined : router.select(model, isEligible);
  if (byModel !== undefined) return byModel;
  const eligible = settings.deployments.filter(({ useInPassThrough }) => useInPassThrough);
  const deployment = firstOf(eligible, providers) ?? (family === 'openai' ? environmentDeployment : null);
  if (deployment !== null) return { ...selectionOf(deployment), upstreamModel: model ?? deployment.upstreamModel };
  const [name = family] = providers;
  const key = family === 'openai' ? ', or set OPENAI_API_KEY' : '';
  throw noDeployment(path, `set use_in_pass_through: true for a model of ${name}/ in model_list${key}`);
}

/** The names in a request for files or batches. */
export interface FilesChoice {
  /** Public names: `?model=`, `target_model_names`; empty: none. */
  readonly models: readonly string[];
  /** `custom_llm_provider`; null: none. */
  readonly provider: string | null;
}

/**
 * Selects the deployment for files and batches by public name or by provider. If the request names neither, selects
 * the first of these that exists: a deployment with `use_in_pass_through`, the only account, the only
 * account at OpenAI, `environmentDeployment` if no other deployment is at OpenAI. Deployments with the
 * same address, key and headers share an account.
 * @throws {ProxyError} 400: no deployment has the name or provider, or no account or several are possible.
 */
export function chooseForFiles(
  { models, provider }: FilesChoice,
  path: string,
  selectionContext: SelectionContext,
): Selection {
  const { settings } = selectionContext;
  const [model] = models;
  if (model !== undefined) {
    const selections = models.map((name) => selectNamed(name, path, selectionContext));
    const [first] = selections;
    if (first === undefined || onePerAccount(selections.map((selection) => selection.deployment)).length > 1)
      throw unclearDeployment(path, "the request's models are at different upstreams; a file is at one upstream only");
    return first;
  }
  const candidates =
    selectionContext.environmentDeployment === null
      ? settings.deployments
      : [...settings.deployments, selectionContext.environmentDeployment];
  if (provider !== null) {
    const names = provider === 'vllm' ? families.vllm : provider === 'openai' ? families.openai : [provider];
    const deployment = firstOf(candidates, names);
    if (deployment !== null) return selectionOf(deployment);
    const configured = [...new Set(candidates.map((candidate) => candidate.provider.name))].join(', ');
    const configuredProviders = configured === '' ? '' : `; configured: ${configured}`;
    throw noDeployment(path, `no deployment has the provider ${provider.slice(0, 100)}${configuredProviders}`);
  }
  const [eligible] = settings.deployments.filter(({ useInPassThrough }) => useInPassThrough);
  if (eligible !== undefined) return selectionOf(eligible);
  // LiteLLM's default is OpenAI, so a single account at OpenAI has priority over other providers.
  const isOpenai = (deployment: Deployment) => families.openai.includes(deployment.provider.name);
  for (const group of [settings.deployments, settings.deployments.filter(isOpenai)]) {
    const [only, second] = onePerAccount(group);
    if (only !== undefined && second === undefined) return selectionOf(only);
  }
  if (selectionContext.environmentDeployment !== null && !settings.deployments.some(isOpenai))
    return selectionOf(selectionContext.environmentDeployment);
  if (settings.deployments.length === 0) throw noDeployment(path, 'add one to model_list, or set OPENAI_API_KEY');
  throw unclearDeployment(
    path,
    "add ?model=<public name> or ?custom_llm_provider=<provider>, or set 'use_in_pass_through: true' for a deployment",
  );
}

/** Returns whether all deployments have the same account, so that the selection does not matter. */
export function hasOneAccount({ settings, environmentDeployment }: SelectionContext): boolean {
  return (
    onePerAccount(
      environmentDeployment === null ? settings.deployments : [...settings.deployments, environmentDeployment],
    ).length <= 1
  );
}

/**
 * Selects the deployment of a name: always the same one, also for a wildcard, because later requests
 * must find the file again.
 * @throws {ProxyError} 400: no deployment has the name.
 */
function selectNamed(model: string, path: string, { settings, router }: SelectionContext): Selection {
  const candidates = router.candidates(model);
  const selection = candidates.find(({ deployment }) => deployment.useInPassThrough) ?? candidates[0];
  if (selection === undefined) throw noDeploymentFor(model, path.replace(/^\//, ''), settings, router.modelNames);
  return selection;
}

/** Returns the providers' first deployment that has `use_in_pass_through`, or else their first one; null: none. */
function firstOf(deployments: readonly Deployment[], providers: readonly string[]): Deployment | null {
  const matching = deployments.filter(({ provider }) => providers.includes(provider.name));
  return matching.find(({ useInPassThrough }) => useInPassThrough) ?? matching[0] ?? null;
}

/** Returns the first deployment of each account: the same address, key and headers. */
export function onePerAccount(deployments: readonly Deployment[]): readonly Deployment[] {
  const accounts = new Map<string, Deployment>();
  for (const deployment of deployments) {
    const account = JSON.stringify([deployment.apiBase, deployment.apiKey, deployment.extraHeaders]);
    if (!accounts.has(account)) accounts.set(account, deployment);
  }
  return [...accounts.values()];
}

function selectionOf(deployment: Deployment): Selection {
  return { deployment, modelGroup: deployment.modelName, upstreamModel: deployment.upstreamModel };
}
