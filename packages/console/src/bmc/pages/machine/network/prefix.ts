/** Subnet masks. */

/** Returns the length of the prefix of a mask, such as 24 for `255.255.255.0`; null for an empty text. */
export function prefixOf(mask: string): number | null {
  if (mask === '') return null;
  const bits = mask.split('.').map((part) => Number(part).toString(2).replaceAll('0', '').length);
  return bits.reduce((sum, ones) => sum + ones, 0);
}
