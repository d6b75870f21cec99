/**
 * Reads forward proxies from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY. Lower-case names have
 * priority, as in curl and LiteLLM.
 */
import { networkMatcher } from '@rackless/daemon/network/ip-networks.js';
import { decode } from '../endpoints/paths.js';
import type { Environment } from '../settings.js';

/** A forward proxy between this proxy and an upstream. */
export interface ForwardProxy {
  readonly protocol: 'http:' | 'https:';
  readonly hostname: string;
  readonly port: number;
  /** Value of Proxy-Authorization, a secret; null: none. */
  readonly authorization: string | null;
}

/**
 * Returns the forward proxy for an upstream's origin; null: connect directly.
 * @throws {Error} if the variable's value is not a valid http or https URL. The message names the
 *   variable, never its value.
 */
export function proxyOf(origin: URL, environment: Environment): ForwardProxy | null {
  for (const name of [origin.protocol === 'https:' ? 'https_proxy' : 'http_proxy', 'all_proxy']) {
    const value = variable(name, environment);
    if (value === '') continue;
    if (isExempt(origin, variable('no_proxy', environment))) return null;
    return parse(`${name} or ${name.toUpperCase()}`, value);
  }
  return null;
}

function variable(name: string, environment: Environment): string {
  return environment[name] ?? environment[name.toUpperCase()] ?? '';
}

function parse(name: string, value: string): ForwardProxy {
  // Many systems set `proxy:3128` without a scheme.
  const text = value.includes('://') ? value : `http://${value}`;
  if (!URL.canParse(text)) throw new Error(`reading ${name}: its value is not the URL of a proxy`);
  const url = new URL(text);
  const { protocol } = url;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Error(
      `reading ${name}: proxies of scheme ${protocol.slice(0, -1)} are not supported, only http and https`,
    );
  }
  const [user, password] = [decode(url.username), decode(url.password)];
  if (user === undefined || password === undefined)
    throw new Error(`reading ${name}: the user or the password has an invalid percent escape`);
  return {
    protocol,
    hostname: unbracket(url.hostname),
    port: Number(url.port === '' ? (protocol === 'https:' ? 443 : 80) : url.port),
    authorization: user === '' ? null : `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
  };
}

/**
 * Returns whether NO_PROXY contains the origin. An entry is `*`, a host, a domain with its
 * subdomains, an address, or a network in CIDR notation. All but `*` may have a port.
 */
function isExempt(origin: URL, noProxy: string): boolean {
  const hostname = unbracket(origin.hostname).toLowerCase();
  const port = Number(origin.port === '' ? (origin.protocol === 'https:' ? 443 : 80) : origin.port);
  return noProxy.split(/[\s,]+/).some((entry) => {
    if (entry === '') return false;
    if (entry === '*') return true;
    const [, host = entry, wantedPort] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
    if (wantedPort !== undefined && Number(wantedPort) !== port) return false;
    const name = unbracket(host.toLowerCase().replace(/^\*?\./, ''));
    return hostname === name || hostname.endsWith(`.${name}`) || networkMatcher([name])(hostname);
  });
}

/** Removes the brackets of an IPv6 address: sockets use `::1` for the `[::1]` of a URL. */
export function unbracket(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
