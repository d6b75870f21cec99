/** The part of the feature `consoles` that systems show: serial consoles as WebSockets. */
export interface WebConsoles {
  /** Maximum number of concurrent WebSockets to the serial console of a machine. */
  readonly maxPerMachine: number;
}
