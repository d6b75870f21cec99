/** The part of the feature `consoles` that systems, managers and accounts show. */

/** The SSH server for consoles. */
export interface ConsoleSsh {
  readonly port: number;
  /** Maximum number of concurrent consoles, over all machines and clients. */
  readonly maxConsoles: number;
}
