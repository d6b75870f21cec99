/** What a test has opened, closed behind it. */
import { afterEach } from '@jest/globals';

export interface Closable {
  close(): Promise<unknown>;
}

/** To be called once in a suite. @returns keeps a thing to be closed after the present test, the last one first, and gives it back. */
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
