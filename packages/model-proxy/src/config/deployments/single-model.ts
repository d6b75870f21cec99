/**
 * Turns flags such as `--model` and `--request_timeout` into a document that acts like a
 * configuration file.
 */
import { COMMAND_LINE, type Findings } from '../faults.js';
import type { Flags } from '../listen-settings.js';
import type { YamlMapping, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

/** Used in messages instead of a file name. Line numbers are 0. */
const FILE = COMMAND_LINE.file;

/** Makes a scalar node. */
export const scalar = (value: string | number | boolean): YamlNode => ({ kind: 'scalar', file: FILE, line: 0, value });

/** Makes a mapping node from the members that are not undefined. */
export function mapping(members: Readonly<Record<string, YamlNode | undefined>>): YamlMapping {
  const set = Object.entries(members).filter((member): member is [string, YamlNode] => member[1] !== undefined);
  return { kind: 'mapping', file: FILE, line: 0, members: new Map(set) };
}

const optional = (value: string | boolean | undefined) => (value === undefined ? undefined : scalar(value));

/**
 * Makes the document of the flags.
 * @returns undefined if none of `--model`, `--request_timeout` and `--drop_params` is set.
 */
export function singleModelDocument(flags: Flags, findings: Findings): YamlMapping | undefined {
  const settings = mapping({
    request_timeout: optional(flags.request_timeout),
    drop_params: flags.drop_params === true ? scalar(true) : undefined,
  });
  const hasSettings = settings.members.size > 0;
  if (flags.model === undefined) {
    for (const name of ['alias', 'api_base', 'headers'] as const)
      if (flags[name] !== undefined) findings.faultAt(COMMAND_LINE, `${FILE}: --${name} needs --model as well`);
    return hasSettings ? mapping({ litellm_settings: settings }) : undefined;
  }
  const name = flags.alias ?? flags.model;
  return mapping({
    model_list: {
      kind: 'sequence',
      file: FILE,
      line: 0,
      items: [
        mapping({
          model_name: scalar(name),
          litellm_params: mapping({
            model: scalar(flags.model),
            api_base: optional(flags.api_base),
            extra_headers: headersNode(flags.headers, findings),
          }),
        }),
      ],
    },
    // The model also serves every requested name that the configuration does not have.
    router_settings: mapping({
      model_group_alias: mapping({ '*': mapping({ model: scalar(name), hidden: scalar(true) }) }),
    }),
    ...(hasSettings ? { litellm_settings: settings } : {}),
  });
}

function headersNode(text: string | undefined, findings: Findings): YamlNode | undefined {
  if (text === undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined; // reported below, together with other invalid values
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    findings.faultAt(COMMAND_LINE, `${FILE}: --headers must be a JSON object`);
    return undefined;
  }
  return mapping(Object.fromEntries(Object.entries(parsed).map(([key, value]) => [key, scalar(String(value))])));
}
