/** Parses URLs that clients send. */

/**
 * Parses a URL. Rejects control characters, which `new URL` removes, so that a client reads back the URL
 * that it sent.
 * @returns undefined if it is no URL.
 */
export function parseUrl(text: string): URL | undefined {
  return !/\p{Cc}/u.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}
