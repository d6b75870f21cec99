/** `additional_drop_params`: names of parameters, and paths into them (`tools[*].input_examples`, `extra.flags[0].name`). */
import { prune } from '../json/prune.js';

/** What lies below a parameter. */
export interface DropPath {
  /** The parameter: a member of the request itself. */
  readonly parameter: string;
  /** Empty: the parameter as a whole. Else a name, the number of an element, or {@link EVERY} element, each below the one before. */
  readonly steps: readonly (string | number)[];
}

/** Every element of an array, among the steps of a path: no step is an empty name. */
const EVERY = '';

/** Reads one entry. What is no path is a name, whatever characters it has. */
export function parseDropPath(text: string): DropPath {
  const match = /^([^.[\]]+)((?:\.[^.[\]]+|\[(?:\*|\d+)\])*)$/.exec(text);
  if (match === null) return { parameter: text, steps: [] };
  const [, parameter = text, rest = ''] = match;
  const steps = Array.from(rest.matchAll(/\.([^.[\]]+)|\[(\*|\d+)\]/g), ([, name, index]) => {
    if (name !== undefined) return name;
    return index === '*' ? EVERY : Number(index);
  });
  return { parameter, steps };
}

/** Paths that begin alike share their beginnings: however many there are, an element is asked for once. */
interface Fork {
  readonly next: Map<string | number, Fork>;
  /** A path ends here: what is here is dropped. */
  ends: boolean;
}

/**
 * A value without what lies at the ends of the paths; where a path leads nowhere nothing happens.
 * @param value one whole, verified JSON value.
 * @returns the same buffer if nothing was there to be dropped.
 */
export function dropPaths(value: Buffer, paths: readonly DropPath['steps'][]): Buffer {
  const root: Fork = { next: new Map(), ends: false };
  for (const steps of paths) {
    let fork = root;
    for (const step of steps) {
      let next = fork.next.get(step);
      if (next === undefined) fork.next.set(step, (next = { next: new Map(), ends: false }));
      fork = next;
    }
    fork.ends = true;
  }
  return prune<readonly Fork[]>(value, [root], (forks, key) => {
    const within: Fork[] = [];
    for (const { next } of forks) {
      const named = next.get(key);
      const every = typeof key === 'number' ? next.get(EVERY) : undefined;
      if (named?.ends === true || every?.ends === true) return 'remove';
      if (named !== undefined) within.push(named);
      if (every !== undefined) within.push(every);
    }
    return within.length === 0 ? 'keep' : { within };
  });
}
