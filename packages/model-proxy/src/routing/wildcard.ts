/** Matches model names against public names that contain stars, such as `openai/*`. */
import { escapeRegExp } from '@rackless/daemon/text/escape-reg-exp.js';
import type { Deployment } from '../providers/deployment.js';

/** A model group whose name is a pattern. */
export interface WildcardGroup {
  readonly modelName: string;
  readonly deployments: readonly Deployment[];
  /** Has one capture group for each star. */
  readonly pattern: RegExp;
}

/**
 * Maximum length of a name that a wildcard matches. With several stars, the time of a match is
 * polynomial in the length.
 */
const MAX_NAME_LENGTH = 256;

/**
 * Makes the pattern of a public name. A star matches any text; names of more than 256 characters
 * never match.
 */
export function wildcardPattern(name: string): RegExp {
  return new RegExp(`^(?!.{${MAX_NAME_LENGTH + 1}})${name.split('*').map(escapeRegExp).join('(.*)')}$`, 's');
}

/**
 * Compares two public names: the name with more literal characters comes first, then the name with
 * fewer stars.
 */
export function bySpecificity(left: { readonly modelName: string }, right: { readonly modelName: string }): number {
  const stars = (name: string) => name.split('*').length - 1;
  const letters = (name: string) => name.length - stars(name);
  return letters(right.modelName) - letters(left.modelName) || stars(left.modelName) - stars(right.modelName);
}

/**
 * Makes the upstream's name for a model: the text that each star of the public name matched
 * replaces the stars of `upstreamModel`, in order. Surplus stars get the last match.
 */
export function fillStars(upstreamModel: string, captures: readonly string[]): string {
  let next = 0;
  return upstreamModel.replace(/\*/g, () => {
    const text = captures[Math.min(next, captures.length - 1)] ?? '';
    next += 1;
    return text;
  });
}
