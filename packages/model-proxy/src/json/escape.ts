/** The letters of JSON's escapes (RFC 8259 §7). */

/** Whether a letter makes an escape of its own behind a backslash: all but `u` do so. */
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

/** Whether a byte is one of the digits of `\u00e9`. */
export function isHex(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}
