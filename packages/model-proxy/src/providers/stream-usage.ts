/** Adds `include_usage` to the `stream_options` of a request. */
import { objectMembers } from '../json/navigate.js';
import { memberEdits, spliceChunks } from '../json/splice.js';

/**
 * Returns the options with `include_usage: true`.
 * @param options a JSON object.
 * @param replaces whether to replace a value that the client has set.
 * @returns undefined: the options stay unchanged.
 */
export function withUsage(options: Buffer, replaces: boolean): Buffer | undefined {
  const members = objectMembers(options, 0, options.length);
  const given = members?.find(({ key }) => key === 'include_usage');
  if (members === undefined || (given !== undefined && !replaces)) return undefined;
  const change =
    given === undefined ? { added: [['include_usage', 'true']] as const } : { replaced: new Map([[given, 'true']]) };
  const edits = memberEdits({ members, start: 0 }, change);
  return Buffer.concat(spliceChunks([options], options.length, edits));
}
