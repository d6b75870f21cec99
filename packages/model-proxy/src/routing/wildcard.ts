/** Public names with stars in them: `openai/*`. */
import type { Deployment } from '../providers/deployment.js';

/** A model group whose name is a pattern. */
export interface WildcardGroup {
  readonly modelName: string;
  readonly deployments: readonly Deployment[];
  /** A capture for each star. */
  readonly pattern: RegExp;
}

const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Of a name that a client asks for. With several stars the time of a search grows with a power of it. */
const LONGEST_NAME = 256;

/** The pattern of a name with stars, each of which stands for any text; a name of more than 256 characters is none of its kind. */
export function wildcardPattern(name: string): RegExp {
  return new RegExp(`^(?!.{${LONGEST_NAME + 1}})${name.split('*').map(escape).join('(.*)')}$`, 's');
}

/** More letters that have to be so come first, then fewer stars; what is equal stays in its order. */
export function bySpecificity(left: { readonly modelName: string }, right: { readonly modelName: string }): number {
  const stars = (name: string) => name.split('*').length - 1;
  const letters = (name: string) => name.length - stars(name);
  return letters(right.modelName) - letters(left.modelName) || stars(left.modelName) - stars(right.modelName);
}

/**
 * What the upstream is asked for: its stars are filled with what the stars of the public name stood for, one after the other, stars that
 * are left with the last of them.
 */
export function fillStars(upstreamModel: string, captures: readonly string[]): string {
  let next = 0;
  return upstreamModel.replace(/\*/g, () => {
    const text = captures[Math.min(next, captures.length - 1)] ?? '';
    next += 1;
    return text;
  });
}
