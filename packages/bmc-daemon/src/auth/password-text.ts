/** The text of the password file, and not a half of it. */
import { readTextFile } from '@rackless/daemon/text-file.js';

/** How often, and after how many milliseconds, a file that seems to be written just then is looked at again. */
const LOOKS = 3;
const PAUSE_MS = 20;

/**
 * Reads the file. Apache's htpasswd empties it before it writes it anew: whoever reads it in between would shut everybody out, and
 * whoever builds upon that would lose them. So a file that is empty, or whose last line does not end, is looked at again first; the
 * process stands still for up to 40 ms then.
 * @param pause waits between two looks.
 * @throws what node:fs throws, where it can not be read.
 */
export function readPasswordText(file: string, pause: () => void = standStill): string {
  for (let look = 1; ; look += 1) {
    const text = readTextFile(file);
    if (text.endsWith('\n') || look === LOOKS) return text;
    pause();
  }
}

function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}
