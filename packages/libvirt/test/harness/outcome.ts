import { LibvirtError } from '../../src/index.js';

/** Returns the error code of a call; undefined if the call succeeds. */
export const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => (error instanceof LibvirtError ? error.code : error),
  );
