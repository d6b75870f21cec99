/** Closes the resources of a test after the test. */
import { afterEach } from '@jest/globals';

export interface Closable {
  close(): Promise<unknown>;
}

/**
 * Prepares a suite. Call this once in the suite.
 * @returns a function that registers a resource and returns it. After the test, resources are
 *   closed, the last one first.
 */
export function closingAfterEach(): <T extends Closable>(thing: T) => T {
  const open: Closable[] = [];
  afterEach(async () => {
    for (const thing of open.splice(0).reverse()) await thing.close();
  });
  return (thing) => {
    open.push(thing);
    return thing;
  };
}
