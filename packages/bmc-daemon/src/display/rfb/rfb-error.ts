/** The error of the VNC protocol (RFC 6143). */

/** A fault of a VNC server or client. Its message is a sentence for the user, without secrets. */
export class RfbError extends Error {
  override readonly name = 'RfbError';
}
