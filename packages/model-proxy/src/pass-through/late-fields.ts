/**
 * Rejects fields that name a deployment but arrive too late: a part of the form has gone to another
 * deployment. Without this check, a file could silently go to a wrong account.
 */
import { boundaryOf, MultipartError, MultipartScanner } from '../exchange/request/multipart.js';
import { lateChoice } from '../errors/path.js';

/**
 * Checks a chunk of a body before it is forwarded.
 * @throws {ProxyError} 400: the chunk contains the beginning of a field to reject.
 */
type ChunkCheck = (chunk: Buffer) => void;

/**
 * Returns the check for a form.
 * @param wanted names of the fields to reject.
 */
export function rejectLateFields(contentType: string, wanted: ReadonlySet<string>): ChunkCheck {
  let scanner: MultipartScanner | null = new MultipartScanner(boundaryOf(contentType) ?? '');
  return (chunk) => {
    if (scanner === null) return;
    try {
      scanner.push(chunk);
    } catch (error) {
      if (!(error instanceof MultipartError)) throw error;
      // Parsers may read this form differently. The check ends, and the upstream accepts or rejects the form.
      scanner = null;
      return;
    }
    for (const { name, isFile } of scanner.begun)
      if (name !== null && !isFile && wanted.has(name)) throw lateChoice(name);
  };
}
