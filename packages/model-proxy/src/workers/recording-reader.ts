/** Remembers the texts of a configuration. */
import { readTextFile } from '@rackless/daemon/files/text-file.js';
import type { ReadText } from '../config/documents.js';

/**
 * Makes a function that reads files from the disk, and stores their texts. With the texts, another process can load
 * the same configuration, even if a file has changed since or is a pipe.
 */
export function recordingReader(texts: Map<string, string>): ReadText {
  return (path) => {
    const text = readTextFile(path);
    texts.set(path, text);
    return text;
  };
}
