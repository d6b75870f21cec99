/**
 * Maximum number of interim answers (1xx) before an answer. Servers send one or two, but a hostile
 * server may never stop.
 */
export const MAX_INTERIM_ANSWERS = 32;
