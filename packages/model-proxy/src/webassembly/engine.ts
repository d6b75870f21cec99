/**
 * Types for the part of the engine's WebAssembly API that this package uses. The type declarations
 * of Node 20 do not contain it.
 */

/**
 * The global `WebAssembly` object.
 * @see https://webassembly.github.io/spec/js-api/
 */
export interface WebAssemblyEngine {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Readonly<Record<string, unknown>> };
}

/** Returns the engine's WebAssembly; null if the process runs without it (`--jitless`). */
export function webAssemblyEngine(): WebAssemblyEngine | null {
  const { WebAssembly } = globalThis as { readonly WebAssembly?: WebAssemblyEngine }; // The engine has the functions that this file declares.
  return WebAssembly ?? null;
}
