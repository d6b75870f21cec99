/** The router: addresses below `/ui/`, the browser's history, and links. */
import { computed, signal } from '@preact/signals';

const BASE = '/ui/';

/** A path below `/ui/` and its query, such as `systems/1/screen`. */
interface Place {
  /** Without a slash at its start or end. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** The current place. */
export const place = signal<Place>(readPlace());

/** The current path. A change of the query alone, such as a filter, renders only components that read the query. */
export const currentPath = computed(() => place.value.path);

/** Starts to follow the history, and to open links below `/ui/` without loading the page again. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    clearTimeout(addressTimer);
    addressTimer = undefined;
    place.value = readPlace();
  });
  addEventListener('pagehide', writeAddress);
  document.addEventListener('click', (event) => {
    const hasModifier = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (event.defaultPrevented || event.button !== 0 || hasModifier || !(event.target instanceof Element)) return;
    const link = event.target.closest('a');
    if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
    if (link.hash !== '') return;
    // Paths with a dot are files, and `plain` is the page without JavaScript.
    const rest = link.pathname.startsWith(BASE) ? link.pathname.slice(BASE.length) : 'plain';
    if (rest === 'plain' || rest.includes('.')) return;
    event.preventDefault();
    navigate(rest + link.search);
  });
}

/** Returns the address of a path below `/ui/`, for `href`. */
export const hrefOf = (path: string): string => BASE + path;

/**
 * Opens a path below `/ui/`: `systems/1?tab=x`.
 * @param options `isReplaced`: the current entry of the history is replaced. The address bar shows the path after a
 * pause of `ADDRESS_MS`.
 */
export function navigate(path: string, { isReplaced = false }: { readonly isReplaced?: boolean } = {}): void {
  if (isReplaced) {
    clearTimeout(addressTimer);
    address = BASE + path;
    addressTimer = setTimeout(writeAddress, ADDRESS_MS);
    place.value = placeOf(new URL(address, location.href));
    return;
  }
  writeAddress();
  history.pushState(null, '', BASE + path);
  place.value = readPlace();
  scrollTo(0, 0);
}

/**
 * Pause before the address follows the last replaced path, in milliseconds. Chromium needs about 15 ms of CPU for each
 * new address, beside the frame with the result of a key press. Safari throws an error after 100 addresses in 30 s.
 */
const ADDRESS_MS = 300;
/** The address that the history gets after the pause. */
let address = '';
let addressTimer: ReturnType<typeof setTimeout> | undefined;

/** Writes the address that waits, if any, into the current entry of the history. */
function writeAddress(): void {
  if (addressTimer === undefined) return;
  clearTimeout(addressTimer);
  addressTimer = undefined;
  history.replaceState(null, '', address);
}

/** Parameters of a path, by name. */
export type RouteParameters = Readonly<Record<string, string>>;

/**
 * Compares a path with a pattern.
 * @param pattern segments; `:name` matches one segment, a last `*` matches the rest: `systems/:id/*`.
 * @returns the parameters, decoded, with `*` for the rest; null if the path does not match.
 */
export function matchPath(pattern: string, path: string): RouteParameters | null {
  const parts = pattern.split('/');
  const segments = path.split('/');
  const hasRest = parts.at(-1) === '*';
  const fixed = hasRest ? parts.slice(0, -1) : parts;
  if (segments.length < fixed.length || (!hasRest && segments.length !== fixed.length)) return null;
  const found: Record<string, string> = {};
  for (const [index, part] of fixed.entries()) {
    const segment = segments[index] ?? '';
    if (part.startsWith(':')) found[part.slice(1)] = decode(segment);
    else if (part !== segment) return null;
  }
  if (hasRest) found['*'] = segments.slice(fixed.length).join('/');
  return found;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function readPlace(): Place {
  return placeOf(location);
}

function placeOf({ pathname, search }: Pick<URL, 'pathname' | 'search'>): Place {
  return { path: pathname.slice(BASE.length).replace(/\/+$/, ''), query: new URLSearchParams(search) };
}
