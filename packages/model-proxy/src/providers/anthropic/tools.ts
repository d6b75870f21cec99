/**
 * Translates OpenAI's tools.
 * @see https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview
 */
import { invalidParameter } from '../../errors/model.js';
import { cacheControlOf, type Block } from './content.js';
import { recordOf, recordsOf, textOf } from './values.js';

/** The tool with which the model writes a JSON object. LiteLLM uses the same tool name. */
export const JSON_TOOL = 'json_tool_call';

/** A tool for `response_format: {"type": "json_object"}`, which Anthropic's API does not have. */
export const jsonTool: Block = {
  name: JSON_TOOL,
  description: 'Writes the answer as a JSON object.',
  input_schema: { type: 'object', additionalProperties: true, properties: {} },
};

/** Translates `tools`. Tools of Anthropic's API stay unchanged. @throws {ProxyError} 400: a function has no name. */
export function toolsOf(tools: unknown): readonly Block[] {
  return recordsOf(tools).map((tool) => {
    const described = recordOf(tool['function']);
    if (tool['type'] !== 'function' || described === undefined) return tool;
    const { name, description, parameters } = described;
    if (textOf(name) === undefined) throw invalidParameter('tools', 'has a function without a name');
    return {
      name,
      ...(typeof description === 'string' ? { description } : {}),
      input_schema: { type: 'object', properties: {}, ...recordOf(parameters) },
      ...cacheControlOf(described),
      ...cacheControlOf(tool),
    };
  });
}

/**
 * Translates `tool_choice` and `parallel_tool_calls`. A choice of Anthropic's API stays unchanged.
 * @param choice undefined: the request has none.
 * @returns undefined: Anthropic's default applies.
 * @throws {ProxyError} 400: the choice is invalid.
 */
export function toolChoiceOf(choice: unknown, parallel: unknown): Block | undefined {
  const chosen = choice === undefined ? undefined : chosenTool(choice);
  if (parallel !== false || chosen?.['type'] === 'none') return chosen;
  return { ...(chosen ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

const choices: ReadonlyMap<unknown, Block> = new Map([
  ['auto', { type: 'auto' }],
  ['required', { type: 'any' }],
  ['none', { type: 'none' }],
]);
const anthropicChoices: ReadonlySet<unknown> = new Set(['auto', 'any', 'tool', 'none']);

function chosenTool(choice: unknown): Block {
  const translated = choices.get(choice);
  if (translated !== undefined) return translated;
  const object = recordOf(choice);
  if (object !== undefined && anthropicChoices.has(object['type'])) return object;
  const name = textOf(recordOf(object?.['function'])?.['name']);
  if (name === undefined)
    throw invalidParameter(
      'tool_choice',
      'must be auto, none, required, or {"type": "function", "function": {"name": "…"}}',
    );
  return { type: 'tool', name };
}
