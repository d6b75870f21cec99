/** The stored responses whose usage is not counted yet, by the upstream's ids. All workers of a group know them. */
import type { Siblings } from './siblings.js';

/** Above this number, the oldest ids are dropped: their responses are not counted. */
const MAX_IDS = 10_000;

/** The ids of the stored responses whose usage is not counted yet. */
export interface UncountedResponses {
  has(id: string): boolean;
  add(id: string): void;
  /** Removes a response. @returns whether it was there. */
  take(id: string): boolean;
}

/** Creates an empty set. @param siblings null: there are no other workers. */
export function createUncountedResponses(siblings: Siblings | null): UncountedResponses {
  const ids = new Set<string>();
  const remember = (id: string): void => {
    ids.add(id);
    for (const oldest of ids) {
      if (ids.size <= MAX_IDS) return;
      ids.delete(oldest);
    }
  };
  siblings?.onEvent((event) => {
    if (event.kind === 'uncounted') remember(event.id);
    else if (event.kind === 'counted') ids.delete(event.id);
  });
  return {
    has: (id) => ids.has(id),
    add(id) {
      remember(id);
      siblings?.publish({ kind: 'uncounted', id });
    },
    take(id) {
      const wasThere = ids.delete(id);
      if (wasThere) siblings?.publish({ kind: 'counted', id });
      return wasThere;
    },
  };
}
