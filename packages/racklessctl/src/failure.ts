/** Failures of a command, with the exit code that a script sees. */
import { exitCode as daemonCodes } from '@rackless/daemon/process/exit-code.js';

/** Exit codes. The numbers from 64 to 78 are those of sysexits.h, as in the daemons. */
export const exitCode = {
  ...daemonCodes,
  /** EX_NOINPUT: no machine, context or log matches, or a name matches several machines. */
  noMatch: 66,
  /** EX_UNAVAILABLE: the service cannot be reached, or does not speak Redfish. */
  unavailable: 69,
  /** EX_TEMPFAIL: a time limit has passed. The operation may still succeed. */
  timeout: 75,
  /** EX_NOPERM: the service rejects the credentials, or the account lacks a privilege. */
  denied: 77,
  /** Ctrl-C, SIGTERM or SIGHUP. The number is 128 + SIGINT, as shells report Ctrl-C. */
  interrupted: 130,
} as const;

/** The meaning of each exit code, for the documentation. */
export const exitCodeTexts: readonly (readonly [code: number, meaning: string])[] = [
  [exitCode.done, 'the command succeeded for all machines and services'],
  [
    exitCode.failed,
    'a service rejected a request or could not execute it, or machines or services failed for different reasons',
  ],
  [exitCode.usage, 'a command, an option or an argument is wrong'],
  [exitCode.noMatch, 'no machine, context or log matches, or a name matches several machines'],
  [exitCode.unavailable, 'the service cannot be reached, or does not answer with Redfish'],
  [exitCode.timeout, 'a time limit has passed; the operation may still succeed'],
  [exitCode.denied, 'the service rejects the credentials, or the account lacks a privilege'],
  [exitCode.configuration, 'the context file or a CA file is invalid, or the password cannot be read'],
  [exitCode.interrupted, 'Ctrl-C, SIGTERM or SIGHUP interrupted the command'],
];

/** A failure that the user sees as one text, without a stack. An empty text is not printed. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  /** One of {@link exitCode}. */
  readonly code: number;

  constructor(code: number, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}

/** Returns the common exit code of several failures, or {@link exitCode.failed} if their codes differ. */
export function commonCode(failures: readonly CommandFailure[]): number {
  const [first] = failures;
  return first !== undefined && failures.every(({ code }) => code === first.code) ? first.code : exitCode.failed;
}

/** Creates the failure of a wrong option or argument. */
export const usageFailure = (message: string): CommandFailure => new CommandFailure(exitCode.usage, message);
