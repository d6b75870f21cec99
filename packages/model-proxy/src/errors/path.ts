/** Errors of request heads, paths, handshakes and raw requests. */
import { type ProxyError, requestFault, shortened, typeOfStatus } from './proxy-error.js';

/**
 * Reports that a header has an invalid value.
 * @param name lower case.
 * @param expected for example `expected a number of seconds`.
 */
export function invalidHeader(name: string, expected: string): ProxyError {
  return requestFault(`Invalid header '${name}': ${expected}.`, { param: name });
}

/** Reports that there is no such path. */
export function noSuchPath(method: string, path: string): ProxyError {
  return requestFault(`There is no ${shortened(method)} ${shortened(path)} here.`, { status: 404 });
}

/**
 * Reports that LiteLLM has this route, but this proxy does not.
 * @param page URL of LiteLLM's documentation.
 */
export function notImplemented(method: string, path: string, page: string): ProxyError {
  return requestFault(
    `${shortened(method)} ${shortened(path)} is not implemented here. It is a route of LiteLLM's proxy: ${page}. GET /routes lists the routes ` +
      'that this proxy serves.',
    { status: 501, type: 'not_implemented_error' },
  );
}

/**
 * Reports that the path does not support the method.
 * @param allow the methods that it supports, such as `GET, HEAD`.
 */
export function methodNotAllowed(method: string, path: string, allow: string): ProxyError {
  return requestFault(`${shortened(path)} does not support ${shortened(method)}. It supports ${allow}.`, {
    status: 405,
    headers: { allow },
  });
}

/**
 * Reports that the path only accepts WebSockets. RFC 9110 §15.5.22 requires the header `upgrade`.
 */
export function webSocketOnly(path: string): ProxyError {
  return requestFault(`${shortened(path)} only accepts WebSockets: send 'Upgrade: websocket'.`, {
    status: 426,
    headers: { upgrade: 'websocket' },
  });
}

/**
 * Reports that the WebSocket version is not supported. RFC 6455 §4.4 requires the header
 * `sec-websocket-version`.
 */
export function webSocketVersion(): ProxyError {
  return requestFault("A WebSocket handshake must have 'Sec-WebSocket-Version: 13'.", {
    status: 426,
    headers: { upgrade: 'websocket', 'sec-websocket-version': '13' },
  });
}

/** Reports that the WebSocket handshake is invalid. @param required what is missing, such as `HTTP/1.1`. */
export function badHandshake(required: string): ProxyError {
  return requestFault(`A WebSocket handshake must have ${required}.`);
}

/**
 * Reports that raw pass-through has no deployment for the path.
 * @param remedy how to configure one.
 */
export function noDeployment(path: string, remedy: string): ProxyError {
  return requestFault(`${shortened(path)}: no configured deployment can serve it: ${remedy}.`);
}

/**
 * Reports that raw pass-through has several deployments for the path.
 * @param remedy how the client or the configuration selects one.
 */
export function unclearDeployment(path: string, remedy: string): ProxyError {
  return requestFault(`${shortened(path)}: it is not clear which deployment is meant: ${remedy}.`);
}

/**
 * Reports that the form names its deployment too late: the proxy has already begun to send the form
 * to a deployment.
 */
export function lateChoice(name: string): ProxyError {
  return requestFault(
    `The field '${shortened(name)}' follows the form's file, which the proxy is already forwarding: put it before the file, or name the ` +
      'deployment by ?model=<public name> or ?custom_llm_provider=<provider>.',
    { param: name },
  );
}

/** Reports that the request is not valid HTTP, or not HTTP/1. The type of the error is always that of a 400. */
export function unreadableRequest(status: number, message: string): ProxyError {
  return requestFault(message, { status, type: typeOfStatus(400) });
}

/**
 * Reports that the Host header is missing or repeated. RFC 9112 §3.2 requires exactly one in
 * HTTP/1.1.
 */
export function wrongHost(): ProxyError {
  return requestFault('The request must have exactly one Host header.');
}

/** Reports that no deployment has stored the response with this id; OpenAI's wording. */
export function noSuchResponse(id: string): ProxyError {
  return requestFault(`Response with id '${shortened(id)}' not found.`, { status: 404, param: 'response_id' });
}
