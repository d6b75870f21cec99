/**
 * The kinds of failures of upstreams. upstream/ assigns the kind once, when it makes the error. errors/model.ts does
 * so for limits and cooldowns of deployments. Retries, cooldowns and fallbacks depend on the kind.
 */
export type FailureKind =
  | 'badRequest' // 400, 422 and other faults of the request
  | 'contextWindow' // the prompt is too long for the model
  | 'contentPolicy' // the upstream refuses the content
  | 'authentication' // 401: the key of the deployment is wrong
  | 'permission' // 402, 403: the key of the deployment may not do this, or its account has no money left
  | 'notFound' // 404: the upstream does not have the model or the path
  | 'timeout' // 408, 504, or a timeout of the proxy; the connect timeout is `unreachable`
  | 'rateLimit' // 429, or a deployment at its limit or in a cooldown
  | 'internalServer' // 500, the statuses from 501 to 599 without another kind, redirects, invalid statuses
  | 'badGateway' // 502, or an answer that is not what the API promises
  | 'unavailable' // 503, 409
  | 'unreachable' // the request was not sent: refused, unknown host, connect timeout, TLS, no access token
  | 'interrupted'; // the connection ended before the whole answer arrived, or a stream ended with an error event
