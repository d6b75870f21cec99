/** The engine's own part of WebAssembly, of which the declarations of Node 20 say nothing: as much as is used here. */

/** @see https://webassembly.github.io/spec/js-api/ */
export interface WebAssemblyEngine {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Readonly<Record<string, unknown>> };
}

/** null: the process was told to do without (`--jitless`). */
export function webAssemblyEngine(): WebAssemblyEngine | null {
  const { WebAssembly } = globalThis as { readonly WebAssembly?: WebAssemblyEngine }; // the engine's, as declared above
  return WebAssembly ?? null;
}
