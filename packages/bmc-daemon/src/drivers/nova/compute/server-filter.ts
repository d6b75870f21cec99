/** Selects the servers that the daemon serves: EMULATOR_OS_FILTER. */
import type { Server } from './server.js';

/** Conditions. A server must meet all of them. */
export interface ServerFilter {
  /** The server has all these tags. */
  readonly tags?: readonly string[] | undefined;
  /** The server has all these metadata items. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The name of the server. `*` stands for any text. */
  readonly name?: string | undefined;
  /** The name that the flavor had when the server was created or resized. */
  readonly flavor?: string | undefined;
}

/** Returns whether a server meets all conditions. */
export function matches(server: Pick<Server, 'tags' | 'metadata' | 'name' | 'flavor'>, filter: ServerFilter): boolean {
  const { tags = [], metadata = {}, name, flavor } = filter;
  return (
    tags.every((tag) => server.tags.includes(tag)) &&
    Object.entries(metadata).every(([key, value]) => server.metadata[key] === value) &&
    (name === undefined || matchesPattern(server.name, name)) &&
    (flavor === undefined || server.flavor.name === flavor)
  );
}

/**
 * Matches a pattern. It does not use a regular expression, because that could take
 * extremely long for a pattern with many stars.
 */
function matchesPattern(text: string, pattern: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let position = first.length;
  for (const part of parts) {
    const found = text.indexOf(part, position);
    if (found === -1) return false;
    position = found + part.length;
  }
  return text.length - last.length >= position && text.endsWith(last);
}
