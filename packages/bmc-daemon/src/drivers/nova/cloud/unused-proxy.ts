/** HTTP proxies of the environment, which OpenStack's other clients use and the daemon does not. */

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the environment variable with the proxy that OpenStack's other clients use for a URL; undefined if
 * they use none.
 */
export function unusedProxy(url: string, environment: Environment): string | undefined {
  const { protocol, hostname } = new URL(url);
  const exceptions = environment['no_proxy'] ?? environment['NO_PROXY'] ?? '';
  const isExcepted = exceptions
    .split(',')
    .map((entry) => entry.trim().replace(/^\./, '').replace(/:\d+$/, ''))
    .some((entry) => entry === '*' || (entry !== '' && (hostname === entry || hostname.endsWith(`.${entry}`))));
  if (isExcepted) return undefined;
  const scheme = protocol.slice(0, -1);
  const names = [`${scheme}_proxy`, `${scheme.toUpperCase()}_PROXY`, 'all_proxy', 'ALL_PROXY'];
  return names.find((name) => (environment[name] ?? '') !== '');
}
