/**
 * The paths that Express answers. They are listed separately so that a lookup does not load
 * Express.
 */

/** A page that Express answers. */
interface PagePath {
  /**
   * Whether the page is available without a key, as in LiteLLM, unless the configuration closes it.
   * Such pages show no secrets.
   */
  readonly isPublic: boolean;
}

/** All pages by their path. */
export const pagePaths: ReadonlyMap<string, PagePath> = new Map([
  ['/', { isPublic: true }],
  ['/routes', { isPublic: true }],
  ['/metrics', { isPublic: true }],
  // A check costs tokens, so this page needs the key.
  ['/health', { isPublic: false }],
  ['/model/info', { isPublic: false }],
  ['/v1/model/info', { isPublic: false }],
  ['/model/status', { isPublic: false }],
]);
