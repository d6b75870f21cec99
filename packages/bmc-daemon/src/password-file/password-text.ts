/** Reads the password file, and avoids a half-written file. */
import { readTextFile } from '@rackless/daemon/files/text-file.js';

/** Maximum number of reads of a file that seems incomplete, and the pause between two reads. */
const MAX_READS = 3;
const PAUSE_MS = 20;

/**
 * Reads the file. Apache's htpasswd empties the file before it writes: a reader in between would
 * see no users, and a writer would lose them. So the function reads a file again if it is empty or
 * its last line has no end. It then blocks the process for up to 40 ms.
 * @param pause waits between two reads.
 * @throws the errors of node:fs.
 */
export function readPasswordText(file: string, pause: () => void = blockBriefly): string {
  for (let reads = 1; ; reads += 1) {
    const text = readTextFile(file);
    if (text.endsWith('\n') || reads === MAX_READS) return text;
    pause();
  }
}

function blockBriefly(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}
