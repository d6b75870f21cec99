/**
 * Returns the `code` of an error that Node.js, the system or OpenSSL reports, for example `ENOENT`.
 * It does not use `instanceof`, because Jest runs a test in a realm with its own `Error`.
 * @returns undefined if the error has no code, or a code that is not a string.
 */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
