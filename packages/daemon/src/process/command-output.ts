/** Reports output of a process that cannot be written. */
import { errorCode } from '../error-code.js';
import { fileReason } from '../files/text-file.js';
import { exitCode } from './exit-code.js';
import { OutputWatch } from './output-watch.js';

/**
 * Standard output and standard error of a command or a service. Create this object before the first write. Without it,
 * a failed write ends the process with a stack trace.
 */
export class CommandOutput {
  readonly #program: string;
  readonly #watch: OutputWatch;
  #isLog = false;

  /** @param program the name in messages. */
  constructor(program: string) {
    this.#program = program;
    this.#watch = new OutputWatch(process.stdout, () => undefined);
    // If nothing reads the messages anymore, the command still does its work.
    process.stderr.on('error', () => undefined);
  }

  /**
   * Declares that standard output is the log of a service from now on. If the disk is full, the service continues
   * without its log, and reports this once on standard error. If the reader of the log has ended, the write throws, and
   * the service ends.
   */
  becomeLog(): void {
    this.#isLog = true;
    let isReported = false;
    process.stdout.on('error', (error) => {
      if (errorCode(error) === 'EPIPE') throw error;
      if (isReported) return;
      isReported = true;
      process.stderr.write(`${this.#program}: writing the log: ${fileReason(error)}: lines are missing\n`);
    });
  }

  /**
   * Waits until all output of a command is written, and reports why it is incomplete. A reader that closes its pipe
   * early is no failure.
   * @param code the exit code of the command, or of the service.
   * @returns the exit code; 1 if the output of a command is incomplete.
   */
  async finish(code: number): Promise<number> {
    if (this.#isLog) return code;
    const failure = await this.#watch.failure();
    if (failure === undefined) return code;
    process.stderr.write(`${this.#program}: ${failure}\n`);
    return exitCode.failed;
  }
}
