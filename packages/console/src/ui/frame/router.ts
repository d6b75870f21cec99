/** The router: addresses below `/ui/`, the browser's history, and links. */
import { computed, signal } from '@preact/signals';
import { leave, staysAt } from './leaving.js';

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

/** The number of the current entry in the history. Each entry of the console stores its number. */
let entry = entryOf(history.state) ?? 0;
/** Whether the next step needs no question, because the user has already answered it. */
let isDecided = false;

/**
 * Starts to follow the history, and to open links below `/ui/` without loading the page again. If the page must stay,
 * a step through the history is undone, so that the address always belongs to the page.
 */
export function startRouter(): void {
  history.replaceState(stateOf(entry), '');
  addEventListener('popstate', ({ state }) => {
    clearTimeout(addressTimer);
    addressTimer = undefined;
    const next = entryOf(state);
    // A link to a part of the page has made an entry, which has no number yet.
    if (next === null) history.replaceState(stateOf((entry += 1)), '');
    // `history.go` below has undone a step, and causes this event. The entry in the history may have an older address
    // of the page, so this writes the present address into it.
    else if (next === entry) history.replaceState(stateOf(entry), '', addressOf(place.value));
    else {
      const distance = next - entry;
      const repeat = (): void => {
        isDecided = true;
        history.go(distance);
      };
      if (!isDecided && staysAt(readPlace().path === place.value.path, repeat)) {
        history.go(-distance);
        return;
      }
      isDecided = false;
      entry = next;
    }
    place.value = readPlace();
  });
  addEventListener('pagehide', writeAddress);
  document.addEventListener('click', (event) => {
    const hasModifier = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (event.defaultPrevented || event.button !== 0 || hasModifier || !(event.target instanceof Element)) return;
    const link = event.target.closest('a');
    if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
    if (link.hash !== '') return;
    // The browser itself opens files, whose paths have a dot, and `plain`, the page without JavaScript.
    const rest = link.pathname.startsWith(BASE) ? link.pathname.slice(BASE.length) : 'plain';
    if (rest === 'plain' || rest.includes('.')) return;
    event.preventDefault();
    navigate(rest + link.search);
  });
}

/** Returns the address of a path below `/ui/`, for `href`. */
export const hrefOf = (path: string): string => BASE + path;

/**
 * Opens a path below `/ui/`: `systems/1?tab=x`. If the user loses work by this, asks first. Another
 * query of the same page loses none.
 * @param options `isReplaced`: the current entry of the history is replaced, without a question. The address bar shows
 *   the path after a pause of `ADDRESS_MS`.
 */
export function navigate(path: string, { isReplaced = false }: { readonly isReplaced?: boolean } = {}): void {
  if (isReplaced) {
    clearTimeout(addressTimer);
    address = BASE + path;
    addressTimer = setTimeout(writeAddress, ADDRESS_MS);
    place.value = placeOf(new URL(address, location.href));
    return;
  }
  const go = (): void => {
    writeAddress();
    history.pushState(stateOf((entry += 1)), '', BASE + path);
    place.value = readPlace();
    scrollTo(0, 0);
  };
  if (placeOf(new URL(BASE + path, location.href)).path === place.value.path) go();
  else leave('page', go);
}

/**
 * Pause before the address follows the last replaced path, in milliseconds. Without it, each key press in a search
 * would cost Chromium about 15 ms of CPU more. Safari throws an error after 100 new addresses in 30 s.
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
  history.replaceState(stateOf(entry), '', address);
}

/** Parameters of a path, by name. */
export type RouteParameters = Readonly<Record<string, string>>;

/**
 * Compares a path with a pattern.
 * @param pattern segments; `:name` matches one segment, a last `*` matches the rest, even an empty one: `systems/:id/*`
 * @returns the parameters, decoded; `*` and values with a wrong `%` are as in the path. null: the path does not match.
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

function stateOf(number: number): object {
  return { entry: number };
}

/** Returns the number in a state of the history; null: it has none. */
function entryOf(state: unknown): number | null {
  if (typeof state !== 'object' || state === null || !('entry' in state)) return null;
  return typeof state.entry === 'number' ? state.entry : null;
}

function addressOf({ path, query }: Place): string {
  return BASE + path + (query.size === 0 ? '' : `?${query.toString()}`);
}

function readPlace(): Place {
  return placeOf(location);
}

function placeOf({ pathname, search }: Pick<URL, 'pathname' | 'search'>): Place {
  return { path: pathname.slice(BASE.length).replace(/\/+$/, ''), query: new URLSearchParams(search) };
}
