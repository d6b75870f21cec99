/** How many interim answers (1xx) a server may send before its answer. Servers send one or two, and a hostile one may never stop. */
export const MAX_INTERIM_ANSWERS = 32;
