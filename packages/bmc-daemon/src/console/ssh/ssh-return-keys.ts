/** Converts line ends of files to CR, which the Enter key sends. */

const CR = 0x0d;
const LF = 0x0a;

/** A converter that accepts input in pieces. */
export class ReturnKeys {
  #wasReturn = false;

  /** Returns the bytes as keys: CR for LF, and for CR LF. */
  read(bytes: Buffer): Buffer {
    const keys = Buffer.allocUnsafe(bytes.length);
    let length = 0;
    for (const byte of bytes) {
      if (byte !== LF || !this.#wasReturn) {
        keys[length] = byte === LF ? CR : byte;
        length += 1;
      }
      this.#wasReturn = byte === CR;
    }
    return keys.subarray(0, length);
  }
}
