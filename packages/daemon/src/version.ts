import { readFileSync } from 'node:fs';

/**
 * Reads the version of a package, for example `0.1.0`.
 * @param packageFile URL of its package.json: `new URL('../package.json', import.meta.url)` is
 *   right in src/ and in dist/.
 * @throws {Error} if the file has no version; also what node:fs and JSON throw.
 */
export function readVersion(packageFile: URL): string {
  const parsed: unknown = JSON.parse(readFileSync(packageFile, 'utf8'));
  if (typeof parsed === 'object' && parsed !== null && 'version' in parsed && typeof parsed.version === 'string') {
    return parsed.version;
  }
  throw new Error(`reading the version in ${packageFile.pathname}: there is none`);
}
