/** Fields that name a deployment and come when the form is on its way to another: nothing may go to a wrong account without a word. */
import { boundaryOf, MultipartError, MultipartScanner } from '../endpoints/multipart.js';
import { lateChoice } from '../errors.js';

/** Looks at a body while it is sent on. @throws {ProxyError} 400, when such a field begins. */
export type Inspect = (chunk: Buffer) => void;

/** @param wanted names of fields. */
export function inspectForm(contentType: string, wanted: ReadonlySet<string>): Inspect {
  let scanner: MultipartScanner | null = new MultipartScanner(boundaryOf(contentType) ?? '');
  return (chunk) => {
    if (scanner === null) return;
    try {
      scanner.push(chunk);
    } catch (error) {
      if (!(error instanceof MultipartError)) throw error;
      // It is no form: that is for the upstream to say.
      scanner = null;
      return;
    }
    for (const { name, isFile } of scanner.begun)
      if (name !== null && !isFile && wanted.has(name)) throw lateChoice(name);
  };
}
