/**
 * Resolves the host names that the service connects to (image servers, event listeners): with the
 * host's resolver, or with the name servers that a client has set.
 */
import { lookup as askHost, Resolver, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP } from 'node:net';

/** Returns all addresses of a name, in the form of `dns.lookup`. */
export type NameLookup = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** A resolver whose name servers can change. */
export interface NameServers {
  readonly lookup: NameLookup;
  /**
   * Sets the name servers.
   * @param servers addresses, with `:port` or `[…]:port` if the port is not 53; empty: the host's
   *   resolver.
   */
  readonly use: (servers: readonly string[]) => void;
}

/** The time limit for one answer of one server. */
const TIMEOUT_MS = 2_000;
/** Attempts for each server. */
const TRIES = 2;

/** Creates a resolver that uses the host's resolver until {@link NameServers.use} sets servers. */
export function createNameServers(): NameServers {
  let resolver: Resolver | undefined;
  return {
    lookup(name, options, callback) {
      if (resolver === undefined) askHost(name, options, callback);
      else askServers(resolver, name, familiesOf(options), callback);
    },
    use(servers) {
      if (servers.length === 0) {
        resolver = undefined;
        return;
      }
      // Creates a new resolver for each list, so that running queries finish with the old resolver.
      resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
      resolver.setServers(servers);
    },
  };
}

type Family = 4 | 6;

/**
 * Returns the address families to query: IPv4 comes first, because in many labs only IPv4 works. If
 * an address does not answer, Node soon tries the next one.
 */
function familiesOf({ family = 0 }: LookupOptions): readonly Family[] {
  if (family === 4 || family === 'IPv4') return [4];
  return family === 6 || family === 'IPv6' ? [6] : [4, 6];
}

/**
 * Resolves a name with the given servers. IP addresses and localhost names need no server. Ignores the
 * host's own table of names, because the client that set the servers wants their answers.
 */
function askServers(
  resolver: Resolver,
  name: string,
  families: readonly Family[],
  callback: Parameters<NameLookup>[2],
): void {
  const literal = isIP(name);
  if (literal !== 0) {
    callback(null, [{ address: name, family: literal }]);
    return;
  }
  if (isLocalhost(name)) {
    callback(
      null,
      families.map((family) => ({ address: family === 4 ? '127.0.0.1' : '::1', family })),
    );
    return;
  }
  const found: LookupAddress[] = [];
  let pendingQueries = families.length;
  let failure: NodeJS.ErrnoException | undefined;
  for (const family of families) {
    const done = (error: NodeJS.ErrnoException | null, addresses: readonly string[]): void => {
      // A failure counts only if no family has an address: a name may lack addresses of one family.
      if (error === null) found.push(...addresses.map((address) => ({ address, family })));
      else if (failure === undefined || isAbsence(failure)) failure = error;
      pendingQueries -= 1;
      if (pendingQueries > 0) return;
      if (found.length > 0) callback(null, found.sort(byFamily));
      else callback(unresolved(name, failure), []);
    };
    if (family === 4) resolver.resolve4(name, done);
    else resolver.resolve6(name, done);
  }
}

/**
 * Returns whether the name is a localhost name, which must never be sent to a server (RFC 6761
 * §6.3).
 */
function isLocalhost(name: string): boolean {
  return /^(.+\.)?localhost\.?$/i.test(name);
}

function byFamily(a: LookupAddress, b: LookupAddress): number {
  return a.family - b.family;
}

/**
 * Returns whether a server answered that the name, or the addresses of the requested family, do not
 * exist.
 */
function isAbsence({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ENODATA' || code === 'ENOTFOUND';
}

/**
 * Returns an error with the code of getaddrinfo, which HTTP clients expect: unknown name, or no
 * answer.
 */
function unresolved(name: string, cause: NodeJS.ErrnoException | undefined): NodeJS.ErrnoException {
  const code = cause === undefined || isAbsence(cause) ? 'ENOTFOUND' : 'EAI_AGAIN';
  const error: NodeJS.ErrnoException = new Error(`looking up ${name}: ${code}`, { cause });
  return Object.assign(error, { code });
}
