/**
 * Rewrites `tools` for vLLM's chat. Custom tools become functions, and the schemas lose keywords that
 * older versions of vLLM reject.
 */
import { arrayElements, objectMembers } from '../../json/navigate.js';
import type { JsonEdit } from '../../json/object.js';
import { prune } from '../../json/prune.js';
import { spliceChunks } from '../../json/splice.js';

/**
 * Removes the keywords `strict` and `additionalProperties: false`, and converts custom tools to
 * functions. Arguments of a tool with these names stay, and so do these members in examples. LiteLLM removes both.
 * @param tools the member's value as JSON.
 * @returns the same buffer if nothing changed.
 */
export function vllmTools(tools: Buffer): Buffer {
  const cleaned = prune<'schema' | 'names'>(tools, 'schema', (context, key, valueStart) => {
    if (context === 'names' || typeof key === 'number') return { within: 'schema' };
    if (key === 'strict' || (key === 'additionalProperties' && isFalse(tools, valueStart))) return 'remove';
    if (keywordsWithValues.has(key)) return 'keep';
    return { within: keywordsWithNames.has(key) ? 'names' : 'schema' };
  });
  return withoutCustomTools(cleaned);
}

/** Keywords whose members have names that the author of the schema chooses. */
const keywordsWithNames = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords that contain values, not schemas. */
const keywordsWithValues = new Set(['enum', 'const', 'default', 'example', 'examples', 'required']);

function isFalse(bytes: Buffer, at: number): boolean {
  return bytes.toString('latin1', at, at + 5) === 'false';
}

function withoutCustomTools(tools: Buffer): Buffer {
  const edits: JsonEdit[] = [];
  for (const [index, { start, end }] of (arrayElements(tools, 0, tools.length) ?? []).entries()) {
    const type = objectMembers(tools, start, end)?.findLast(({ key }) => key === 'type');
    if (type === undefined || tools.toString('latin1', type.valueStart, type.valueEnd) !== '"custom"') continue;
    const tool: unknown = JSON.parse(tools.toString('utf8', start, end));
    edits.push({ start, end, replacement: Buffer.from(JSON.stringify(functionOf(tool, index))) });
  }
  return edits.length === 0 ? tools : Buffer.concat(spliceChunks([tools], tools.length, edits));
}

/** The schema for a custom tool without a schema: an object with a text. */
const rawInput = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The input of the tool, as free text.' } },
  required: ['input'],
};

function functionOf(tool: unknown, index: number): object {
  const outer = asObject(tool);
  const custom = asObject(outer['custom']);
  const name = custom['name'] ?? outer['name'];
  const description = custom['description'] ?? outer['description'];
  const schema = custom['input_schema'] ?? outer['input_schema'];
  return {
    type: 'function',
    function: {
      name: typeof name === 'string' && name !== '' ? name : `custom_tool_${index}`,
      ...(typeof description === 'string' ? { description } : {}),
      parameters: typeof schema === 'object' && schema !== null && !Array.isArray(schema) ? schema : rawInput,
    },
  };
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
