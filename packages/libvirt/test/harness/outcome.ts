import { LibvirtError } from '../../src/index.js';

/** Returns the code of a call's LibvirtError, or any other error itself; undefined if the call succeeds. */
export const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => (error instanceof LibvirtError ? error.code : error),
  );
