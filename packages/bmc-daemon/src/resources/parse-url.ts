/** Parses URLs that clients send. */

/**
 * Parses a URL. Rejects control characters, which `new URL` removes or encodes, so that a client reads
 * back the URL that it sent.
 * @returns undefined if the text is not a URL or has control characters.
 */
export function parseUrl(text: string): URL | undefined {
  return !/\p{Cc}/u.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}
