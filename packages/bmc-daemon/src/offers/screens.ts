/** The part of the feature `screens` that the machine's resource shows. */

/** Maximum number of viewers of one machine at a time. */
export const maxViewersPerMachine = 16;
