/** Finds out whether the output of a command is complete. */
import type { Writable } from 'node:stream';
import { errorCode } from '../error-code.js';
import { fileReason } from '../files/text-file.js';

/** Watches a stream for failures. */
export class OutputWatch {
  readonly #stream: Writable;
  #failure: string | undefined;

  /** @param onEnd called when a write fails, also if the reader has closed the pipe. */
  constructor(stream: Writable, onEnd: () => void) {
    this.#stream = stream;
    stream.on('error', (error) => {
      // `list | head -1` closes the pipe early. That is no failure.
      if (errorCode(error) !== 'EPIPE') this.#failure ??= `writing standard output: ${fileReason(error)}`;
      onEnd();
    });
  }

  /**
   * Waits until all output is written.
   * @returns why the output is incomplete; undefined if it is complete.
   */
  async failure(): Promise<string | undefined> {
    // Node also calls the callback after a failure. `setImmediate` lets the listener for errors run first.
    await new Promise<void>((resolve) => void this.#stream.write('', () => setImmediate(resolve)));
    return this.#failure;
  }
}
