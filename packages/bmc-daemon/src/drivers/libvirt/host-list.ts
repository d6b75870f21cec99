/** The hosts of EMULATOR_LIBVIRT_URI. */
import { maskPassword } from '@rackless/daemon/text/mask-url.js';
import type { HostRef } from '../hosts-control.js';
import { connectionUriFault, hostNameOf } from './connection-uri.js';

/** One connection URI, a list of URIs, or URIs by the names of their hosts. */
export type LibvirtUris = string | readonly string[] | Readonly<Record<string, string>>;

/** A URI with its index in the list or its name in the mapping; a single URI has no key. */
interface Entry {
  readonly key: number | string | null;
  readonly uri: string;
}

/** A fault of an entry. */
interface EntryFault {
  /** Index or name; null for a single URI, and for the whole list or mapping. */
  readonly key: number | string | null;
  /** `cannot be used: …`, without secrets; for a setting without entries `names no host`. */
  readonly fault: string;
}

/** Returns the URIs of all hosts. */
export function urisOf(uris: LibvirtUris): readonly string[] {
  return entriesOf(uris).map(({ uri }) => uri);
}

/** Returns the hosts, in the order of the setting. @throws {LibvirtError} INVALID_URI */
export function hostsOf(uris: LibvirtUris): readonly HostRef[] {
  return entriesOf(uris).map(({ key, uri }) => ({ name: typeof key === 'string' ? key : hostNameOf(uri), uri }));
}

/**
 * Returns the first fault of each entry: an invalid URI or name, or a URI or name that an earlier entry has.
 * A setting without entries is a fault too.
 */
export function hostFaults(uris: LibvirtUris): readonly EntryFault[] {
  const entries = entriesOf(uris);
  if (entries.length === 0) return [{ key: null, fault: 'names no host' }];
  const names = new Map<string, Entry>();
  const known = new Map<string, Entry>();
  return entries.flatMap((entry): readonly EntryFault[] => {
    const { key, uri } = entry;
    const uriFault = connectionUriFault(uri);
    if (uriFault !== undefined) return [{ key, fault: `cannot be used: ${uriFault}` }];
    const name = typeof key === 'string' ? key : hostNameOf(uri);
    const twin = names.get(name.toLowerCase());
    const other = known.get(uri);
    names.set(name.toLowerCase(), entry);
    known.set(uri, entry);
    if (!/^[a-z0-9][a-z0-9._-]{0,62}$/i.test(name)) {
      const rule = 'has 1 to 63 letters, digits, dots, underscores and dashes, and begins with a letter or a digit';
      return [{ key, fault: `cannot be used: the name of a host ${rule}` }];
    }
    if (other !== undefined) return [{ key, fault: `cannot be used: ${labelOf(other)} has the same URI` }];
    if (twin === undefined) return [];
    const advice = typeof key === 'string' ? '' : "; give the hosts names, as in {'rack-1': '…'}";
    return [{ key, fault: `cannot be used: ${labelOf(twin)} has the same name, ${name}${advice}` }];
  });
}

function entriesOf(uris: LibvirtUris): readonly Entry[] {
  if (typeof uris === 'string') return [{ key: null, uri: uris }];
  if (isList(uris)) return uris.map((uri, key) => ({ key, uri }));
  return Object.entries(uris).map(([key, uri]) => ({ key, uri }));
}

// Array.isArray does not narrow a readonly array.
const isList = (uris: Exclude<LibvirtUris, string>): uris is readonly string[] => Array.isArray(uris);

const labelOf = ({ key }: Entry): string =>
  typeof key === 'number' ? `entry ${key}` : `entry '${maskPassword(key ?? '')}'`;
