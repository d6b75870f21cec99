/** Slashes at the end of URLs and paths. */

/** Returns a text without the slashes at its end. The lookbehind keeps the time linear for a long run of slashes. */
export const withoutTrailingSlashes = (text: string): string => text.replace(/(?<!\/)\/+$/, '');
