import { CommandFailure, exitCode } from '../failure.js';

/**
 * Returns the path and query of a link, without its host. A service behind a proxy may send
 * absolute links with its own host, and credentials must go only to the host that the user has
 * named. The path starts with exactly one slash, because a relative URL that starts with `//` names
 * a host.
 * @param base the absolute URL to which the link is relative.
 * @throws {CommandFailure} if the text is not a link.
 */
export function linkPath(link: string, base: URL): string {
  const target = URL.canParse(link, base.href) ? new URL(link, base) : undefined;
  if (target === undefined || !['http:', 'https:'].includes(target.protocol))
    throw new CommandFailure(exitCode.unavailable, `'${link}' is not a link`);
  return `/${target.pathname.replace(/^\/+/, '')}${target.search}`;
}
