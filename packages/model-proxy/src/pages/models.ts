/** What there is to ask for: `/v1/models` in OpenAI's words, `/model/info` in LiteLLM's. Nothing here is secret. */
import { maskUrl } from '@rackless/daemon/mask-url.js';
import type { Deployment } from '../providers/deployment.js';
import type { Router } from '../routing/router.js';
import { secretParameter } from '../secret-names.js';

/** One entry of `/v1/models`. LiteLLM gives all of them the same time and the same owner. */
export interface Model {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
  /** As configured: `{"max_input_tokens": 32000}`; left out where nothing is. */
  readonly model_info?: Readonly<Record<string, unknown>>;
}

const CREATED = 1_677_610_602;
const OWNER = 'openai';

function listed(id: string): Model {
  return { id, object: 'model', created: CREATED, owned_by: OWNER };
}

/** `/v1/models`. */
export function listModels({ modelNames }: Router): { readonly data: readonly Model[]; readonly object: 'list' } {
  return { data: modelNames.map(listed), object: 'list' };
}

/** `/v1/models/{id}`, of one that wildcards lead to as well. @returns undefined: there is no such model. */
export function describeModel(router: Router, id: string): Model | undefined {
  const selection = router.select(id);
  if (selection === undefined) return undefined;
  const { modelInfo } = selection.deployment;
  return Object.keys(modelInfo).length === 0 ? listed(id) : { ...listed(id), model_info: withoutSecrets(modelInfo) };
}

/** `/model/info`: every deployment as it is configured, without its keys. */
export function describeDeployments(deployments: readonly Deployment[]): { readonly data: readonly object[] } {
  return { data: deployments.map(describeDeployment) };
}

function describeDeployment(deployment: Deployment): object {
  const { id, modelName, provider, upstreamModel, apiBase, defaults, dropParams, modelInfo, weight } = deployment;
  return {
    model_name: modelName,
    litellm_params: {
      ...withoutSecrets(defaults),
      model: `${provider.name}/${upstreamModel}`,
      api_base: maskUrl(apiBase),
      drop_params: dropParams,
      weight,
    },
    model_info: { ...withoutSecrets(modelInfo), id, db_model: false },
  };
}

/** Parameters without those that somebody hid a key in, at any depth. */
function withoutSecrets(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values)
      .filter(([name]) => !secretParameter.test(name))
      .map(([name, value]) => [name, shown(value)]),
  );
}

function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  return typeof value === 'object' && value !== null ? withoutSecrets({ ...value }) : value;
}
