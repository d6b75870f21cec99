/** OpenAI itself, where no model of it is configured but the environment holds its key: LiteLLM's `/openai/…` works with that alone. */
import type { Deployment } from '../providers/deployment.js';
import { findProvider } from '../providers/index.js';
import { Findings } from './faults.js';
import { readParams, type Inherited } from './params.js';
import { mapping, scalar } from './single-model.js';

/**
 * Reads it as an entry of `model_list` would be: certificates and time-outs of the settings hold for it, too.
 * @returns null: the environment has no key, or no address that can be used. That is no fault: nobody may ever ask for it.
 */
export function readEnvironmentDeployment(inherited: Inherited): Deployment | null {
  const { apiKeyEnvironment } = findProvider('openai');
  if (!apiKeyEnvironment.some((name) => (inherited.environment[name]?.trim() ?? '') !== '')) return null;
  const findings = new Findings();
  const params = { node: mapping({ model: scalar('openai/*'), use_in_pass_through: scalar(true) }), path: [] };
  const modelInfo = { id: 'environment' };
  const read = readParams({ modelName: 'openai', modelInfo, params, inherited: { ...inherited, findings } });
  return read === undefined || 'reason' in read || findings.faultCount > 0 ? null : read;
}
