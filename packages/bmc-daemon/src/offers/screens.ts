/** The part of the feature screens that the machine's resource shows. */

/** Maximum number of viewers of a machine. */
export const maxScreens = 16;
