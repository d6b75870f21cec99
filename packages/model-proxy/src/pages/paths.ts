/** The paths that Express answers; here, so that nothing of Express has to be loaded to know them. */

export interface PagePath {
  /** Whether it is for everybody, keys or not, as with LiteLLM: what it shows is no secret. */
  readonly open: boolean;
}

export const pagePaths: ReadonlyMap<string, PagePath> = new Map([
  ['/', { open: true }],
  ['/routes', { open: true }],
  ['/metrics', { open: true }],
  // It costs tokens.
  ['/health', { open: false }],
  ['/model/info', { open: false }],
  ['/v1/model/info', { open: false }],
]);
