/**
 * The paths that Express answers. They are listed separately so that a lookup does not load
 * Express.
 */

/** A page that Express answers. */
interface PagePath {
  /** All paths of the page. */
  readonly paths: readonly string[];
  /**
   * Whether the page is available without a key, as in LiteLLM, unless the configuration closes it.
   * Such pages show no secrets.
   */
  readonly isPublic: boolean;
}

/** The page with the models of the configuration. LiteLLM has two paths for it. */
export const modelInfoPage: PagePath = { paths: ['/model/info', '/v1/model/info'], isPublic: false };

const pages: readonly PagePath[] = [
  { paths: ['/'], isPublic: true },
  { paths: ['/routes'], isPublic: true },
  { paths: ['/metrics'], isPublic: true },
  // A check costs tokens, so this page needs the key.
  { paths: ['/health'], isPublic: false },
  modelInfoPage,
  { paths: ['/model/status'], isPublic: false },
];

/** Path → page, for each path of all pages. */
export const pagePaths: ReadonlyMap<string, PagePath> = new Map(
  pages.flatMap((page) => page.paths.map((path) => [path, page])),
);
