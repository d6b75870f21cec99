/** Parses URLs that clients send. */

/**
 * Parses a URL. Rejects control characters, which `new URL` removes: a client would read back another URL than the one in use.
 * @returns undefined if it is no URL.
 */
export function parseUrl(text: string): URL | undefined {
  return !/\p{Cc}/u.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}
