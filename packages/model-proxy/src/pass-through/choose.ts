/** Which deployment a raw request goes to: by what it names, else by what the configuration leaves no doubt of. No I/O. */
import { noDeployment, unclearDeployment } from '../errors.js';
import type { Deployment } from '../providers/deployment.js';
import { noDeploymentFor } from '../routing/no-deployment.js';
import type { Selection, Router } from '../routing/router.js';
import type { ProxySettings } from '../settings.js';

export interface Choosing {
  readonly settings: Pick<ProxySettings, 'deployments' | 'unserved'>;
  readonly router: Router;
  /** OpenAI itself, with the key of the environment; null: there is none. */
  readonly ofEnvironment: Deployment | null;
}

/** LiteLLM's names of what each prefix stands for. */
const families: Readonly<Record<'openai' | 'vllm', readonly string[]>> = {
  openai: ['openai', 'text-completion-openai'],
  vllm: ['hosted_vllm', 'vllm'],
};

/**
 * Chooses for `/openai/…` and `/vllm/…`, which reach every path of a server, its administration too: only a deployment that the
 * configuration opens by `use_in_pass_through` is eligible, as in LiteLLM. A `model` that is a public name of that provider selects its
 * deployment. Any other request goes to the first eligible deployment.
 * @param path for errors.
 * @returns its `upstreamModel` is what the upstream reads in place of the model.
 * @throws {ProxyError} 400: no deployment of that provider is eligible.
 */
export function chooseProvider(
  family: 'openai' | 'vllm',
  model: string | undefined,
  path: string,
  { settings, router, ofEnvironment }: Choosing,
): Selection {
  const providers = families[family];
  const byModel = model === undefined ? undefined : router.select(model);
  if (byModel?.deployment.useInPassThrough === true && providers.includes(byModel.deployment.provider.name))
    return byModel;
  const opened = settings.deployments.filter(({ useInPassThrough }) => useInPassThrough);
  const deployment = firstOf(opened, providers) ?? (family === 'openai' ? ofEnvironment : null);
  if (deployment !== null) return { ...selectionOf(deployment), upstreamModel: model ?? deployment.upstreamModel };
  const [name = family] = providers;
  const key = family === 'openai' ? ', or set OPENAI_API_KEY' : '';
  throw noDeployment(path, `set use_in_pass_through: true for a model of ${name}/ in model_list${key}`);
}

/** What a request for files or batches says of where it wants to go. */
export interface FilesChoice {
  /** Public names: `?model=`, `target_model_names`; empty: none. */
  readonly models: readonly string[];
  /** `custom_llm_provider`; null: none. */
  readonly provider: string | null;
}

/**
 * For files and batches, which have no model of their own: by a public name, by provider, or where there is but one place.
 * @throws {ProxyError} 400: unknown, or unclear.
 */
export function chooseFiles({ models, provider }: FilesChoice, path: string, choosing: Choosing): Selection {
  const { settings } = choosing;
  const [model] = models;
  if (model !== undefined) {
    const selections = models.map((name) => selectNamed(name, path, choosing));
    const [first] = selections;
    if (first === undefined || distinct(selections.map((selection) => selection.deployment)).length > 1)
      throw unclearDeployment(path, 'the models that it names are at different upstreams, and a file is at one');
    return first;
  }
  const candidates =
    choosing.ofEnvironment === null ? settings.deployments : [...settings.deployments, choosing.ofEnvironment];
  if (provider !== null) {
    const names = provider === 'vllm' ? families.vllm : provider === 'openai' ? families.openai : [provider];
    const deployment = firstOf(candidates, names);
    if (deployment !== null) return selectionOf(deployment);
    const known = [...new Set(candidates.map((one) => one.provider.name))].join(', ');
    throw noDeployment(path, `there is none of ${provider.slice(0, 100)}, only of ${known === '' ? 'nobody' : known}`);
  }
  const [marked] = settings.deployments.filter(({ useInPassThrough }) => useInPassThrough);
  if (marked !== undefined) return selectionOf(marked);
  // LiteLLM's default is OpenAI.
  const isOpenai = (deployment: Deployment) => families.openai.includes(deployment.provider.name);
  for (const some of [settings.deployments, settings.deployments.filter(isOpenai)]) {
    const [only, second] = distinct(some);
    if (only !== undefined && second === undefined) return selectionOf(only);
  }
  if (choosing.ofEnvironment !== null && !settings.deployments.some(isOpenai))
    return selectionOf(choosing.ofEnvironment);
  if (settings.deployments.length === 0) throw noDeployment(path, 'add one to model_list, or set OPENAI_API_KEY');
  throw unclearDeployment(
    path,
    "name one by ?model=<public name> or by ?custom_llm_provider=<provider>, or let one have 'use_in_pass_through: true'",
  );
}

/** Whether all files go to one place whatever a request says. */
export function hasOnePlace({ settings, ofEnvironment }: Choosing): boolean {
  return distinct(ofEnvironment === null ? settings.deployments : [...settings.deployments, ofEnvironment]).length <= 1;
}

/** A file has to be found again by the next request: of several deployments of a name always the same, not one by weight. */
function selectNamed(model: string, path: string, { settings, router }: Choosing): Selection {
  const group = router.deploymentsOf(model);
  const [first] = [...group.filter(({ useInPassThrough }) => useInPassThrough), ...group];
  if (first !== undefined) return selectionOf(first);
  const selection = router.select(model);
  if (selection === undefined) throw noDeploymentFor(model, path.replace(/^\//, ''), { settings, router });
  return selection;
}

/** The first with `use_in_pass_through`, else the first; null: none. */
function firstOf(deployments: readonly Deployment[], providers: readonly string[]): Deployment | null {
  const some = deployments.filter(({ provider }) => providers.includes(provider.name));
  return some.find(({ useInPassThrough }) => useInPassThrough) ?? some[0] ?? null;
}

/** Of deployments that are one account at one address, the first. */
function distinct(deployments: readonly Deployment[]): readonly Deployment[] {
  const places = new Map<string, Deployment>();
  for (const deployment of deployments) {
    const place = JSON.stringify([deployment.apiBase, deployment.apiKey, deployment.extraHeaders]);
    if (!places.has(place)) places.set(place, deployment);
  }
  return [...places.values()];
}

function selectionOf(deployment: Deployment): Selection {
  return { deployment, modelGroup: deployment.modelName, upstreamModel: deployment.upstreamModel };
}
