/** The names of a machine's manager: its own where a client has given it one, else the host's. */

/** As Redfish has them: without the domain, and with it. */
export interface Names {
  readonly hostName: string | null;
  readonly fqdn: string | null;
}

/** The host always has a name, and not always a domain. */
export interface HostNames extends Names {
  readonly hostName: string;
}

/** What the manager shows: of a name alone the domain is the host's, of an FQDN alone the first label is the name. */
export function shownNames(own: Names, host: HostNames): HostNames {
  if (own.hostName === null && own.fqdn === null) return host;
  const hostName = own.hostName ?? labelOf(own.fqdn) ?? host.hostName;
  const domain = host.fqdn === null ? '' : host.fqdn.slice(host.fqdn.indexOf('.'));
  return { hostName, fqdn: own.fqdn ?? (domain === '' ? null : `${hostName}${domain}`) };
}

/** The names, in lower case, by which a request means this machine alone; none where it has no name of its own. */
export function answeredNames(own: Names, host: HostNames): readonly string[] {
  if (own.hostName === null && own.fqdn === null) return [];
  const { hostName, fqdn } = shownNames(own, host);
  // By the host's own names everything is to be seen, whatever the names of managers are.
  return [hostName, ...(fqdn === null ? [] : [fqdn])].map(lower).filter((name) => !isHostName(name, host));
}

/** Whether a name is the host's, which means that a manager has none of its own. */
export function isHostName(name: string, { hostName, fqdn }: HostNames): boolean {
  return [hostName, fqdn, 'localhost'].some((known) => known !== null && lower(known) === lower(name));
}

/** The name in a Host header, in lower case; undefined where it holds an address (RFC 9110 §7.2). */
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
