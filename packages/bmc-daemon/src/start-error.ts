/** The error of a failed start. */

/** The service cannot start. The message is one line for the administrator. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
