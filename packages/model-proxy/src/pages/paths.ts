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
  readonly open: boolean;
}

/** All pages by their path. */
export const pagePaths: ReadonlyMap<string, PagePath> = new Map([
  ['/', { open: true }],
  ['/routes', { open: true }],
  ['/metrics', { open: true }],
  // A check costs tokens, so this page needs the key.
  ['/health', { open: false }],
  ['/model/info', { open: false }],
  ['/v1/model/info', { open: false }],
  ['/model/status', { open: false }],
]);
