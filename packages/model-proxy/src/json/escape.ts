/** Character classes of JSON's escape sequences (RFC 8259 §7). */

/**
 * Returns whether backslash plus this byte is a complete escape. `\u` is not: four digits follow.
 */
export function isShortEscape(byte: number): boolean {
  switch (byte) {
    case 0x22:
    case 0x5c:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}

/** Returns whether a byte is a hexadecimal digit, as in `\u00e9`. */
export function isHex(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}
