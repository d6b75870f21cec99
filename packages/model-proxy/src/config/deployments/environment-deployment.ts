/**
 * The deployment for OpenAI that consists only of a key in the environment. LiteLLM's `/openai/…`
 * works with such a key even if the configuration has no OpenAI model.
 */
import type { Deployment } from '../../providers/deployment.js';
import { findProvider } from '../../providers/index.js';
import { Findings } from '../faults.js';
import { readParams, type Inherited } from './params.js';
import { mapping, scalar } from './single-model.js';

/**
 * Creates the deployment like an entry of `model_list`, so the general TLS settings and timeouts
 * apply to it.
 * @returns null if the environment has no key, or if the deployment would have a fault, for example an unusable
 *   address. This is not a fault of the configuration, because clients may never use the deployment.
 */
export function readEnvironmentDeployment(inherited: Inherited): Deployment | null {
  const { apiKeyEnvironment } = findProvider('openai');
  if (!apiKeyEnvironment.some((name) => (inherited.environment[name]?.trim() ?? '') !== '')) return null;
  const findings = new Findings();
  const params = { node: mapping({ model: scalar('openai/*'), use_in_pass_through: scalar(true) }), path: [] };
  const modelInfo = { id: 'environment' };
  const deployment = readParams({ modelName: 'openai', modelInfo, params, inherited: { ...inherited, findings } });
  // An entry that the proxy cannot serve has a `reason` (`Unserved`).
  const isUsable = deployment !== undefined && !('reason' in deployment) && findings.faultCount === 0;
  return isUsable ? deployment : null;
}
