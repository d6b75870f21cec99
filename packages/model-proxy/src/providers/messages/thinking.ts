/**
 * Translates `thinking` and `output_config.effort` of Anthropic's requests to members of chat. This is the only place
 * that decides which thinking and which effort an upstream gets.
 * @see https://platform.claude.com/docs/en/build-with-claude/effort
 * @see https://platform.openai.com/docs/guides/reasoning
 */
import { invalidParameter } from '../../errors/model.js';
import { hasEffort } from '../anthropic/thinking.js';
import { recordOf } from '../anthropic/values.js';
import { effortOfBudget } from '../openai/thinking.js';
import { isOpenaiModel } from '../parameters.js';

/** The upstream of a request. */
export interface ThinkingUpstream {
  /** The provider's name. */
  readonly provider: string;
  /** The upstream's name for the model. */
  readonly model: string;
  /** OpenAI's parameters that the upstream supports. */
  readonly supported: ReadonlySet<string>;
  /** Whether the model gets `thinking` and `output_config` unchanged. */
  readonly understandsThinking: boolean;
}

/**
 * Returns the members for the thinking; undefined members are not sent.
 * @param thinking the client's member `thinking`; undefined: the request has none.
 * @param effort the client's `output_config.effort`; undefined: the request has none.
 * @throws {ProxyError} 400: the budget is not a number of tokens.
 */
export function thinkingMembers(
  { thinking, effort }: { readonly thinking: unknown; readonly effort: unknown },
  { provider, model, supported, understandsThinking }: ThinkingUpstream,
): Readonly<Record<string, unknown>> {
  if (understandsThinking && thinking !== undefined)
    // Models without `effort` reject `output_config.effort`. Their `thinking` already has a number of tokens.
    return { thinking, output_config: effort !== undefined && hasEffort(model) ? { effort } : undefined };
  if (!supported.has('reasoning_effort')) return {};
  if (effort === undefined) return { reasoning_effort: effortOf(thinking) };
  return { reasoning_effort: understandsThinking ? effort : knownEffort(effort, provider, model) };
}

/** OpenAI's models with the effort `xhigh`. */
const hasHighestEffort = /gpt-(?:5\.1-codex-max|5\.(?:[2-9]|\d\d)|[6-9](?!\d)|[12]\d(?!\d))/;

/** Providers whose operators choose the names of deployments, so that a name may say nothing about the model. */
const freeNames: ReadonlySet<string> = new Set(['azure', 'azure_ai']);

/**
 * Replaces Anthropic's highest efforts by the highest effort that the model surely has. All other efforts stay
 * unchanged. `xhigh` also stays if the name of the deployment says nothing about the model. OpenAI's API has no `max`.
 */
function knownEffort(effort: unknown, provider: string, model: string): unknown {
  if (effort !== 'max' && effort !== 'xhigh') return effort;
  if (hasHighestEffort.test(model)) return 'xhigh';
  return effort === 'xhigh' && freeNames.has(provider) && !isOpenaiModel(model) ? effort : 'high';
}

/**
 * Translates `thinking` to an effort. Adaptive thinking has no budget, so the upstream decides, and the result is
 * undefined, as without thinking.
 * @throws {ProxyError} 400: the budget is not a number of tokens.
 */
function effortOf(value: unknown): string | undefined {
  const thinking = recordOf(value);
  if (thinking?.['type'] !== 'enabled') return undefined;
  const budget = thinking['budget_tokens'] ?? 0;
  if (typeof budget !== 'number' || budget < 0)
    throw invalidParameter('thinking', 'must have a number from 0 as budget_tokens');
  return effortOfBudget(budget);
}
