/**
 * Returns a copy of a text that keeps no other text in memory. V8 keeps the whole text while a part of it is in use,
 * so a cache must not store parts of heads.
 * @param text latin1.
 */
export const ownText = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');
