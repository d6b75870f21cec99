/** Filters, order and groups of the list. The address contains them, so that a view can be bookmarked. */
import { compareNames, type Sorting } from '../../../ui/table/columns.js';
import { imageNames, type Drive } from '../../redfish/machine-facts.js';
import type { Machine } from '../../redfish/machines.js';

/** The filters. An empty text: no filter. */
export interface Filters {
  /** Words. Each must occur in the name, the UUID, the asset tag, the host, or the name of an image. */
  readonly search: string;
  readonly power: string;
  /** A health, or `unknown`. */
  readonly health: string;
  /** A target; `any`: every override; `none`: no override. */
  readonly boot: string;
  /** `inserted` or `empty`. */
  readonly media: string;
  readonly host: string;
  /** A name pattern, such as `node-*`. */
  readonly group: string;
}

/** The filters, the order and the grouping of the list. */
export interface View {
  readonly filters: Filters;
  readonly sorting: Sorting;
  readonly isGrouped: boolean;
}

/** The names of the filters. They are also the names in the address. */
export const filterNames = ['search', 'power', 'health', 'boot', 'media', 'host', 'group'] as const;

/** The filters before the user chooses one. */
export const noFilters: Filters = { search: '', power: '', health: '', boot: '', media: '', host: '', group: '' };
const DEFAULT_SORTING: Sorting = { column: 'name', isAscending: true };

/** Reads the view from the query of the address. */
export function viewOf(query: URLSearchParams): View {
  const filters = Object.fromEntries(filterNames.map((name) => [name, query.get(name) ?? '']));
  const sort = query.get('sort') ?? '';
  return {
    filters: { ...noFilters, ...filters },
    sorting: sort === '' ? DEFAULT_SORTING : { column: sort.replace(/^-/, ''), isAscending: !sort.startsWith('-') },
    isGrouped: query.get('by') === 'name',
  };
}

/** Returns the query of a view; empty if the user has chosen nothing. */
export function queryOf({ filters, sorting, isGrouped }: View): string {
  const query = new URLSearchParams();
  for (const name of filterNames) if (filters[name] !== '') query.set(name, filters[name]);
  if (sorting.column !== DEFAULT_SORTING.column || !sorting.isAscending) {
    query.set('sort', `${sorting.isAscending ? '' : '-'}${sorting.column}`);
  }
  if (isGrouped) query.set('by', 'name');
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** Returns the pattern of a name: the last number is a star. Names without a number have no pattern (''). */
export function patternOf(name: string): string {
  const pattern = name.replace(/\d+(?=\D*$)/, '*');
  return pattern === name ? '' : pattern;
}

/** Returns the name of the machine's host; '' if the service does not name hosts. */
export function hostOf({ Id, Links }: Machine): string {
  const uris = (Links?.Chassis ?? []).map((link) => link['@odata.id'].split('/').at(-1) ?? '');
  // The first chassis is that of the machine, or one that machines share, so it is not the host.
  const host = uris.slice(1).find((id) => id !== Id) ?? '';
  return decodeURIComponent(host);
}

/** Returns the target of the boot override; '' without an override. */
export function overrideOf({ Boot }: Machine): string {
  const { BootSourceOverrideEnabled: enabled = null, BootSourceOverrideTarget: target = null } = Boot ?? {};
  return enabled === null || enabled === 'Disabled' || target === 'None' ? '' : (target ?? '');
}

/** Returns the health; `unknown` without one. */
export const healthOf = ({ Status }: Machine): string => Status?.Health ?? 'unknown';

/** Returns the power state; `unknown` without one. */
export const powerOf = ({ PowerState }: Machine): string => PowerState ?? 'unknown';

/** The texts that the search reads. A machine that changes is a new object, and gets a new text. */
const searched = new WeakMap<Machine, string>();

function searchText(machine: Machine): string {
  const known = searched.get(machine);
  if (known !== undefined) return known;
  const { Name, UUID = '', AssetTag } = machine;
  const text = `${Name}\n${UUID}\n${AssetTag ?? ''}\n${hostOf(machine)}`.toLowerCase();
  searched.set(machine, text);
  return text;
}

/**
 * Returns the machines that pass all filters.
 * @param drives the drives of machines, as far as they have been read. A machine without an entry passes no filter for
 *   media, and the search does not find its images.
 */
export function filterMachines(
  machines: Iterable<Machine>,
  { search, power, health, boot, media, host, group }: Filters,
  drives: ReadonlyMap<string, readonly Drive[]>,
): Machine[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const hasMedia = (machine: Machine): boolean => {
    const known = drives.get(machine.Id);
    return known !== undefined && imageNames(known).length > 0 === (media === 'inserted');
  };
  const found: Machine[] = [];
  for (const machine of machines) {
    if (power !== '' && powerOf(machine) !== power) continue;
    if (health !== '' && healthOf(machine) !== health) continue;
    if (boot !== '' && !passesBoot(overrideOf(machine), boot)) continue;
    if (host !== '' && hostOf(machine) !== host) continue;
    if (group !== '' && patternOf(machine.Name) !== group) continue;
    if (media !== '' && !hasMedia(machine)) continue;
    if (words.length > 0 && !words.every((word) => containsWord(machine, word, drives))) continue;
    found.push(machine);
  }
  return found;
}

function passesBoot(target: string, wanted: string): boolean {
  if (wanted === 'any') return target !== '';
  return wanted === 'none' ? target === '' : target === wanted;
}

function containsWord(machine: Machine, word: string, drives: ReadonlyMap<string, readonly Drive[]>): boolean {
  if (searchText(machine).includes(word)) return true;
  return imageNames(drives.get(machine.Id) ?? []).some((name) => name.toLowerCase().includes(word));
}

/** Returns the values that occur, in natural order, without ''. */
export function valuesOf(machines: Iterable<Machine>, valueOf: (machine: Machine) => string): readonly string[] {
  const values = new Set<string>();
  for (const machine of machines) values.add(valueOf(machine));
  values.delete('');
  return [...values].sort(compareNames);
}

/**
 * Returns the place of each machine in the natural order of names. Comparing numbers is much faster than comparing
 * names, and most updates change no name.
 */
export function ranksOf(machines: ReadonlyMap<string, Machine>): ReadonlyMap<string, number> {
  const sorted = [...machines.values()].sort((a, b) => compareNames(a.Name, b.Name));
  return new Map(sorted.map(({ Id }, rank) => [Id, rank]));
}
