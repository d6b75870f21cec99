/**
 * Returns a copy of a text that keeps no other text in memory. V8 keeps the whole text while a part of it is in use,
 * so a cache must not store a slice of a longer text, such as a header of an HTTP head.
 * @param text latin1.
 */
export const ownText = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');
