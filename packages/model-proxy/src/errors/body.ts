/** Errors of bodies: of requests that cannot be read, and of answers that are too large. */
import { ProxyError, requestFault, shortened } from './proxy-error.js';

function megabytes(bytes: number): string {
  return String(Number((bytes / 1_048_576).toFixed(3)));
}

/**
 * Reports that the body is not a JSON object.
 * @param fault describes the fault and its position in bytes.
 */
export function invalidJson(fault: { readonly message: string; readonly offset: number }): ProxyError {
  return requestFault(`Invalid JSON payload: ${fault.message} at byte ${fault.offset}.`, { cause: fault });
}

const ambiguities = {
  duplicate: 'occurs more than once',
  escaped: 'is spelled with escapes',
  capital: 'is spelled with capital letters',
};

/**
 * Reports that a member occurs more than once, or its name has escapes or capital letters. The proxy and the
 * upstream could read different values.
 */
export function ambiguousMember(name: string, why: keyof typeof ambiguities): ProxyError {
  return requestFault(`Invalid JSON payload: the key '${name}' ${ambiguities[why]}.`, { param: name });
}

/** Reports that the body is not valid multipart/form-data. @param name the faulty field. */
export function invalidMultipart(why: string, name: string | null = null): ProxyError {
  return requestFault(`Invalid multipart payload: ${why}.`, { param: name });
}

/** Reports that a form field occurs more than once: proxy and upstream could read different values. */
export function repeatedField(name: string): ProxyError {
  return invalidMultipart(`the form field '${name}' is given more than once`, name);
}

/** Reports that the form field `model` has a file name. */
export function modelIsFile(): ProxyError {
  return invalidMultipart("the form field 'model' must be text, not a file", 'model');
}

/** Reports that the path does not accept this type of body. @param got the content type as sent. */
export function unsupportedContentType(got: string, wanted: string): ProxyError {
  return requestFault(`Unsupported content type '${shortened(got)}': send ${wanted}.`, { status: 415 });
}

/**
 * Reports that the body is compressed: the proxy cannot read the model's name in it. RFC 9110
 * §12.5.3 recommends the header `accept-encoding` in this answer.
 */
export function unsupportedContentEncoding(got: string): ProxyError {
  return requestFault(`Unsupported content encoding '${shortened(got)}': send the body uncompressed.`, {
    status: 415,
    headers: { 'accept-encoding': 'identity' },
  });
}

/** Reports that the body has a transfer coding that Node does not undo (RFC 9112 §6.1). */
export function unsupportedTransferCoding(got: string): ProxyError {
  return requestFault(`Unsupported transfer coding '${shortened(got)}': send the body in chunks, or with its length.`, {
    status: 501,
  });
}

/** Reports that the body is too large. @param bytes its length, if it is known. */
export function requestTooLarge(limitBytes: number, bytes: number | undefined): ProxyError {
  const size = bytes === undefined ? '' : ` Request size is ${megabytes(bytes)} MB.`;
  return requestFault(`Request size is too large.${size} Max size is ${megabytes(limitBytes)} MB.`, { status: 413 });
}

/** Reports that the body has too many chunks for its size, so that reading them would cost too much. */
export function tooManyChunks(): ProxyError {
  return requestFault('The request body has too many small chunks: send larger chunks, or a Content-Length header.');
}

/** The setting that limits answers. */
const SIZE_SETTING = 'general_settings.max_response_size_mb';

/**
 * Reports that the answer is too large.
 * @param bytes announced or received so far.
 * @param reason the setting with the limit, or a text if no setting changes the limit.
 */
export function responseTooLarge(limitBytes: number, bytes: number, reason = SIZE_SETTING): ProxyError {
  return new ProxyError({
    status: 502,
    kind: 'malformedAnswer',
    message:
      `Response size is too large. Response size is ${megabytes(bytes)} MB or more. Max size is ${megabytes(limitBytes)} MB: ` +
      `${reason}.`,
  });
}

/** Reports that the rest of the body did not arrive in time. */
export function stalledRequest(): ProxyError {
  return requestFault('The request did not arrive in time.', { status: 408 });
}
