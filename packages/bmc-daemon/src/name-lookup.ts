/**
 * How this service finds the addresses of the names that it connects to (image servers, listeners to events): as its host does, or,
 * where a client has given name servers of its own, by asking those.
 */
import { lookup as askHost, Resolver, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP } from 'node:net';

/** All addresses of a name, as `dns.lookup` gives them. */
export type NameLookup = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface NameServers {
  readonly lookup: NameLookup;
  /** From now on. @param servers addresses, with `:port` or `[…]:port` where it is not 53; empty: the host's own way. */
  readonly use: (servers: readonly string[]) => void;
}

/** For one answer of one server; there are two tries. */
const TIMEOUT_MS = 2_000;
const TRIES = 2;

/** Asks as the host does until {@link NameServers.use} says otherwise. */
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
      // A resolver of its own for each list: what is being asked goes on with the old one.
      resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
      resolver.setServers(servers);
    },
  };
}

type Family = 4 | 6;

/** IPv4 first, as on most hosts of labs it alone works; Node tries the others soon after. */
function familiesOf({ family = 0 }: LookupOptions): readonly Family[] {
  if (family === 4 || family === 'IPv4') return [4];
  return family === 6 || family === 'IPv6' ? [6] : [4, 6];
}

/** The host's own table of names is not looked at: whoever names servers wants their answers. */
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
      families.map((one) => ({ address: one === 4 ? '127.0.0.1' : '::1', family: one })),
    );
    return;
  }
  const found: LookupAddress[] = [];
  let waiting = families.length;
  let failure: NodeJS.ErrnoException | undefined;
  for (const one of families) {
    const done = (error: NodeJS.ErrnoException | null, addresses: readonly string[]): void => {
      // That a name has no address of one family is no failure of the other.
      if (error === null) found.push(...addresses.map((address) => ({ address, family: one })));
      else if (failure === undefined || isAbsence(failure)) failure = error;
      waiting -= 1;
      if (waiting > 0) return;
      if (found.length > 0) callback(null, found.sort(byFamily));
      else callback(unresolved(name, failure), []);
    };
    if (one === 4) resolver.resolve4(name, done);
    else resolver.resolve6(name, done);
  }
}

/** RFC 6761 §6.3: never asked of a server. */
function isLocalhost(name: string): boolean {
  return /^(.+\.)?localhost\.?$/i.test(name);
}

function byFamily(a: LookupAddress, b: LookupAddress): number {
  return a.family - b.family;
}

function isAbsence({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ENODATA' || code === 'ENOTFOUND';
}

/** With the codes of getaddrinfo, which whoever connects knows: no such name, or nobody there to say. */
function unresolved(name: string, cause: NodeJS.ErrnoException | undefined): NodeJS.ErrnoException {
  const code = cause === undefined || isAbsence(cause) ? 'ENOTFOUND' : 'EAI_AGAIN';
  const error: NodeJS.ErrnoException = new Error(`looking up ${name}: ${code}`, { cause });
  return Object.assign(error, { code });
}
