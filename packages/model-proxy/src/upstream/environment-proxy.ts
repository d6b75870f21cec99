/** Forward proxies by environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, lower-case names first, as curl and LiteLLM. */
import { networkTest } from '@rackless/daemon/ip-networks.js';
import type { Environment } from '../settings.js';

/** A forward proxy that stands between here and an upstream. */
export interface ForwardProxy {
  readonly protocol: 'http:' | 'https:';
  readonly hostname: string;
  readonly port: number;
  /** Value of Proxy-Authorization; a secret. null: the proxy asks for none. */
  readonly authorization: string | null;
}

/**
 * The proxy for an upstream's origin; null: there is none, connect directly.
 * @throws {Error} when the variable's value is no http or https URL; the message names the variable, never its value.
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
  // `proxy:3128` without a scheme is what many systems have set.
  const text = value.includes('://') ? value : `http://${value}`;
  if (!URL.canParse(text)) throw new Error(`reading ${name}: its value is no URL of a proxy`);
  const url = new URL(text);
  const { protocol } = url;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Error(
      `reading ${name}: proxies of scheme ${protocol.slice(0, -1)} are not supported, only http and https`,
    );
  }
  const account = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    protocol,
    hostname: unbracket(url.hostname),
    port: Number(url.port === '' ? (protocol === 'https:' ? 443 : 80) : url.port),
    authorization: url.username === '' ? null : `Basic ${Buffer.from(account).toString('base64')}`,
  };
}

/** An entry is `*`, a host or domain (with everything below it), an address or a network in CIDR; each but `*` with an optional port. */
function isExempt(origin: URL, noProxy: string): boolean {
  const hostname = unbracket(origin.hostname).toLowerCase();
  const port = Number(origin.port === '' ? (origin.protocol === 'https:' ? 443 : 80) : origin.port);
  return noProxy.split(/[\s,]+/).some((entry) => {
    if (entry === '') return false;
    if (entry === '*') return true;
    const [, host = entry, wantedPort] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
    if (wantedPort !== undefined && Number(wantedPort) !== port) return false;
    const name = unbracket(host.toLowerCase().replace(/^\*?\./, ''));
    return hostname === name || hostname.endsWith(`.${name}`) || networkTest([name])(hostname);
  });
}

/** `[::1]` of a URL is `::1` for a socket. */
export function unbracket(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
