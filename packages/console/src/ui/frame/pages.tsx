/** Pages that load on demand, and the component that shows the page of the current address. */
import { useSignal } from '@preact/signals';
import { Component, type ComponentChildren, type ComponentType } from 'preact';
import { useCallback, useEffect } from 'preact/hooks';
import { currentPath, hrefOf, matchPath, type RouteParameters } from './router.js';
import { ErrorState, Loading, messageOf } from '../states.js';
import { leave } from './leaving.js';
import { PageHeader } from './page-header.js';
import { uiTexts as texts } from '../../texts/index.js';

/** Properties that each page gets. */
export interface PageProps {
  /** Parameters of the page's pattern. */
  readonly parameters: RouteParameters;
}

/** A page that loads on demand. */
export interface Page {
  /** The pattern of its path below `/ui/` (`matchPath`). */
  readonly pattern: string;
  /** The text in the menu; undefined: the menu does not have the page. */
  readonly label?: string;
  /** The symbol in the menu: a name of `Icon`. */
  readonly icon?: string;
  /** The group in the menu; default: the first, without a heading. */
  readonly group?: string;
  /** Returns whether the menu offers the page to the user. Default: always. May read signals. */
  readonly isOffered?: () => boolean;
  readonly load: () => Promise<{ readonly default: ComponentType<PageProps> }>;
}

/** Starts to load the page of the current address, for example while the login is checked. */
export function preloadPage(pages: readonly Page[]): void {
  const path = currentPath.value;
  const page = pages.find(({ pattern }) => matchPath(pattern, path) !== null);
  // The page itself reports a failure when it is shown.
  page?.load().catch(() => undefined);
}

/** Shows the page of the current address, or that there is no such page. */
export function CurrentPage({ pages }: { readonly pages: readonly Page[] }) {
  const path = currentPath.value;
  for (const page of pages) {
    const parameters = matchPath(page.pattern, path);
    if (parameters === null) continue;
    return (
      <Guarded key={page.pattern}>
        <Lazy load={page.load} properties={{ parameters }} />
      </Guarded>
    );
  }
  return <PageHeader title={texts.notFound} subtitle={texts.notFoundHint} />;
}

/** Properties of `Lazy`. */
interface LazyProps<Properties> {
  /** Imports the module. Must be the same function in each rendering. */
  readonly load: () => Promise<{ readonly default: ComponentType<Properties> }>;
  readonly properties: Properties;
}

/** Shows a component that loads on demand. If it does not load, shows the error and a button that tries again. */
export function Lazy<Properties extends object>({ load, properties }: LazyProps<Properties>) {
  const loaded = useSignal<ComponentType<Properties> | null>(null);
  const error = useSignal<string | null>(null);
  const start = useCallback(
    (onFailure: (thrown: unknown) => void) => {
      load().then((module) => {
        loaded.value = module.default;
      }, onFailure);
    },
    [load],
  );
  useEffect(() => {
    error.value = null;
    start((thrown) => {
      error.value = messageOf(thrown);
    });
  }, [start]);
  const Content = loaded.value;
  if (Content !== null) return <Content {...properties} />;
  if (error.value === null) return <Loading />;
  const retry = (): void => start(() => void loadConsoleAgain());
  return <ErrorState title={texts.pageFailed} message={error.value} onRetry={retry} />;
}

/** How long the service may take to answer, in milliseconds. */
const ANSWER_MS = 10_000;

/**
 * Loads the console again if the service answers. After an update of the service, the modules have other names, which
 * only a new page knows. Asks first if the user would lose work.
 */
async function loadConsoleAgain(): Promise<void> {
  const request: RequestInit = { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(ANSWER_MS) };
  const { ok } = await fetch(hrefOf(''), request).catch(() => ({ ok: false }));
  if (ok) leave('console', () => location.reload());
}

/** Keeps the rest of the console usable if a page throws an error. */
export class Guarded extends Component<{ readonly children: ComponentChildren }, { readonly error: string | null }> {
  override state: { readonly error: string | null } = { error: null };

  static override getDerivedStateFromError(thrown: unknown): { readonly error: string } {
    return { error: messageOf(thrown) };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return <ErrorState title={texts.pageFailed} message={error} onRetry={() => this.setState({ error: null })} />;
  }
}
