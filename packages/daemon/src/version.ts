/** What a daemon is called on the wire: the version that its own package.json names. */
import { readFileSync } from 'node:fs';

/**
 * The version of a package, `0.1.0`.
 * @param packageFile URL of its package.json: `new URL('../package.json', import.meta.url)`, one level up from src/ and from dist/ alike.
 * @throws {Error} where there is none: the package is not whole.
 */
export function readVersion(packageFile: URL): string {
  const parsed: unknown = JSON.parse(readFileSync(packageFile, 'utf8'));
  if (typeof parsed === 'object' && parsed !== null && 'version' in parsed && typeof parsed.version === 'string') {
    return parsed.version;
  }
  throw new Error(`reading the version in ${packageFile.pathname}: there is none`);
}
