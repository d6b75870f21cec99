/** Programs and builds outside of the repository, which environment variables name. */
import { resolve } from 'node:path';

type Variable = 'RACKLESS_BENCH_BEFORE' | 'RACKLESS_BIFROST' | 'RACKLESS_LITELLM';

/**
 * Returns the path in an environment variable; undefined: the variable is not set. A relative path begins at
 * the folder of the caller. npm runs the benchmark in the folder of the package, and puts the caller's folder in
 * INIT_CWD.
 */
export function outsidePath(variable: Variable): string | undefined {
  const path = process.env[variable] ?? '';
  return path === '' ? undefined : resolve(process.env['INIT_CWD'] ?? '', path);
}
