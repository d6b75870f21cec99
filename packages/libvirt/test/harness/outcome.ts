import { LibvirtError } from '../../src/index.js';

/** The code of the error that a call fails with; undefined when it does not fail. */
export const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => (error instanceof LibvirtError ? error.code : error),
  );
