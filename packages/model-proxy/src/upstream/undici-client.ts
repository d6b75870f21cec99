/** undici's client for one connection, loaded when it is first needed: 28 ms, and 77 for all of undici. */
import { createRequire } from 'node:module';
import type { Client } from 'undici';

const require = createRequire(import.meta.url);
let loaded: typeof Client | undefined;

/** The class. The file is undici's own, its version is locked, and what `undici` exports under that name is the same. */
export function clientClass(): typeof Client {
  // A CommonJS file without a declaration.
  loaded ??= require('undici/lib/dispatcher/client.js') as typeof Client;
  return loaded;
}
