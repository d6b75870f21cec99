/** The end of the output of a server's serial console. */

/** Number of lines that the daemon requests. */
export const CONSOLE_LINES = 1000;
/** Maximum size in bytes. A cloud may send more lines than the daemon requests. */
const MAX_BYTES = 256 * 1024;

/** Returns the last bytes of an output. The result does not begin in the middle of a character. */
export function consoleBytes(output: string): Buffer {
  const bytes = Buffer.from(output.slice(-MAX_BYTES));
  let start = Math.max(0, bytes.length - MAX_BYTES);
  // UTF-8: the second and later bytes of a character begin with the bits 10.
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return Buffer.from(bytes.subarray(start));
}
