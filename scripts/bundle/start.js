/**
 * Loads a command. `npm run build` copies this file to `dist/bundle/` of each package with commands.
 *
 * The bundle starts faster than the hundreds of files that the compiler writes. The bundle is outdated if
 * the compiler ran again after `npm run build`. In this case, this file loads the compiler's files. A package from
 * npm has no `.tsbuildinfo`, so its bundle counts as current.
 */
import { statSync } from 'node:fs';

const timeOf = (file) => statSync(new URL(file, import.meta.url), { throwIfNoEntry: false })?.mtimeMs ?? 0;
const isCurrent = timeOf('cli.js') >= timeOf('../.tsbuildinfo');

export const { main } = await import(isCurrent ? './cli.js' : '../cli.js');
