/** The names of a machine's manager: names from a client, or else those of the host. */

/** Host name without domain, and FQDN, as in Redfish. */
interface Names {
  readonly hostName: string | null;
  readonly fqdn: string | null;
}

/** Names of the host, which always has a host name, but not always a domain. */
export interface HostNames extends Names {
  readonly hostName: string;
}

/**
 * Returns the shown names: those of the host if the manager has no own names. A host name without an FQDN
 * gets the domain of the host. Without a host name, the first label of the FQDN is the host name.
 */
export function shownNames(own: Names, host: HostNames): HostNames {
  if (own.hostName === null && own.fqdn === null) return host;
  const hostName = own.hostName ?? labelOf(own.fqdn) ?? host.hostName;
  const domain = host.fqdn === null ? '' : host.fqdn.slice(host.fqdn.indexOf('.'));
  return { hostName, fqdn: own.fqdn ?? (domain === '' ? null : `${hostName}${domain}`) };
}

/**
 * Returns the names in a Host header that select this manager, in lower case. Omits names of the
 * host. Empty if the manager has no own names.
 */
export function requestNames(own: Names, host: HostNames): readonly string[] {
  if (own.hostName === null && own.fqdn === null) return [];
  const { hostName, fqdn } = shownNames(own, host);
  // The names of the host always mean the whole service.
  return [hostName, ...(fqdn === null ? [] : [fqdn])].map(lower).filter((name) => !isHostName(name, host));
}

/** Returns whether a name belongs to the host, so that a manager cannot have it. */
export function isHostName(name: string, { hostName, fqdn }: HostNames): boolean {
  return [hostName, fqdn, 'localhost'].some((known) => known !== null && lower(known) === lower(name));
}

/**
 * Returns the name or IPv4 address in a Host header (RFC 9110 §7.2), in lower case and without a dot at the end;
 * undefined for an IPv6 address and for an invalid header.
 */
export function nameOfHost(header: string): string | undefined {
  const name = /^([^:[\]]+)(?::\d*)?$/.exec(header)?.[1];
  return name === undefined ? undefined : lower(name).replace(/\.$/, '');
}

function labelOf(fqdn: string | null): string | null {
  return fqdn?.split('.')[0] ?? null;
}

function lower(name: string): string {
  return name.toLowerCase();
}
