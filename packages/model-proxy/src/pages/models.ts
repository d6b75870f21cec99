/** Lists models without secrets: `/v1/models` in OpenAI's format, `/model/info` in LiteLLM's. */
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { defaults as standard } from '../config/defaults.js';
import type { Deployment } from '../providers/deployment.js';
import type { VirtualKey } from '../auth/virtual-key.js';
import type { Router } from '../routing/router.js';
import { withoutSecrets } from '../secret-names.js';

/** An entry of `/v1/models`. As in LiteLLM, all entries have the same `created` and `owned_by`. */
interface Model {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
  /**
   * `model_info` of the deployment that the router selects, without secrets, for example
   * `{"max_input_tokens": 32000}`. Absent if empty, and in lists.
   */
  readonly model_info?: Readonly<Record<string, unknown>>;
}

const CREATED = 1_677_610_602;
const OWNER = 'openai';

function listed(id: string): Model {
  return { id, object: 'model', created: CREATED, owned_by: OWNER };
}

/** Returns the answer of `/v1/models`. */
export function listModels(modelNames: readonly string[]): {
  readonly data: readonly Model[];
  readonly object: 'list';
} {
  return { data: modelNames.map(listed), object: 'list' };
}

/**
 * Returns the answer of `/v1/models/{id}`, also for names that match a wildcard.
 * @param key the client's virtual key.
 * @returns undefined if there is no such model, no deployment can serve it, or the key may not use it.
 */
export function describeModel(router: Router, id: string, key: VirtualKey | undefined): Model | undefined {
  const selection = router.select(id);
  if (selection === undefined) return undefined;
  if (key !== undefined && !key.allowsModel(id) && !key.allowsModel(selection.modelGroup)) return undefined;
  const { modelInfo } = selection.deployment;
  return Object.keys(modelInfo).length === 0 ? listed(id) : { ...listed(id), model_info: withoutSecrets(modelInfo) };
}

/** Returns the answer of `/model/info`: some settings of the given deployments, without secrets. */
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
      weight: weight ?? standard.weight,
    },
    model_info: { ...withoutSecrets(modelInfo), id, db_model: false },
  };
}
