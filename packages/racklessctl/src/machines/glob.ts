/** Patterns that select machines and contexts by their names. */
import { CommandFailure, exitCode } from '../failure.js';

/** Returns whether a pattern is a glob, so that it may select several machines. */
export const isGlob = (pattern: string): boolean => /[*?[]/.test(pattern);

/**
 * Returns the regular expression of a glob with `*`, `?`, `[a-z]` and `[!a-z]`. It ignores case.
 * @throws {CommandFailure} if the glob has an invalid range, such as `[z-a]`.
 */
export function globExpression(glob: string): RegExp {
  const source = glob.replace(/\[!?[^\]]+\]|[^]/gu, (part) => {
    if (part === '*') return '.*';
    if (part === '?') return '.';
    if (part.length > 2 && part.startsWith('['))
      return `[${part
        .slice(1, -1)
        .replace(/^!/, '^')
        .replace(/[\\\]]/g, '\\$&')}]`;
    return part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  });
  try {
    return new RegExp(`^${source}$`, 'iu');
  } catch (error) {
    throw new CommandFailure(exitCode.usage, `'${glob}' is not a valid pattern`, { cause: error });
  }
}
