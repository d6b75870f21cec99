/** Assigns failed answers of upstreams to LiteLLM's classes of errors. */
import type { FailureKind } from '../errors/failure-kind.js';

/** A class of errors. */
interface ErrorClass {
  /** The beginning of the message; `%` stands for the provider's name. */
  readonly head: string;
  /** The status for the client. */
  readonly status: number;
  readonly failure: FailureKind;
}

/**
 * Returns the class of a failed answer.
 * @param status as received.
 * @param code the code of the upstream's error; null: none.
 * @param message the message of the upstream's error.
 */
export function errorClassOf(status: number, code: string | null, message: string): ErrorClass {
  if (status === 413 && code === 'rate_limit_exceeded') return tokensPerMinute;
  if (promptStatuses.has(status) && isContextWindow(code, message)) return contextWindow;
  if (status === 400 && isContentPolicy(code, message)) return contentPolicy;
  const known = classes.get(status);
  if (known !== undefined) return { status, ...known };
  // A redirect or an invalid status is the upstream's fault. Its status would mislead the client.
  if (status < 400 || status > 599) return { status: 500, ...internalServer };
  return { status, head: 'litellm.APIError: APIError: % - ', failure: otherFailure(status) };
}

/** Statuses of an answer about a prompt: TGI sends 422 if it is too long, and other servers 413 or 500. */
const promptStatuses: ReadonlySet<number> = new Set([400, 413, 422, 500]);

/** Groq sends 413 for a request that is larger than the limit of tokens per minute. Another account may serve it. */
const tokensPerMinute: ErrorClass = {
  status: 429,
  head: 'litellm.RateLimitError: RateLimitError: % - ',
  failure: 'rateLimit',
};

const contextWindow: ErrorClass = {
  status: 400,
  head: 'litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: % - ',
  failure: 'contextWindow',
};

const contentPolicy: ErrorClass = {
  status: 400,
  head: 'litellm.BadRequestError: litellm.ContentPolicyViolationError: ContentPolicyViolationError: % - ',
  failure: 'contentPolicy',
};

const internalServer = {
  head: 'litellm.InternalServerError: InternalServerError: % - ',
  failure: 'internalServer',
} as const;

const timeout = { head: 'litellm.Timeout: Timeout Error: % - ', failure: 'timeout' } as const;

const classes: ReadonlyMap<number, Omit<ErrorClass, 'status'>> = new Map<number, Omit<ErrorClass, 'status'>>([
  [400, { head: 'litellm.BadRequestError: % - ', failure: 'badRequest' }],
  [401, { head: 'litellm.AuthenticationError: AuthenticationError: % - ', failure: 'authentication' }],
  [403, { head: 'litellm.PermissionDeniedError: PermissionDeniedError: % - ', failure: 'permission' }],
  [404, { head: 'litellm.NotFoundError: NotFoundError: % - ', failure: 'notFound' }],
  [408, timeout],
  [504, timeout],
  [422, { head: 'litellm.UnprocessableEntityError: UnprocessableEntityError: % - ', failure: 'badRequest' }],
  [429, { head: 'litellm.RateLimitError: RateLimitError: % - ', failure: 'rateLimit' }],
  [500, internalServer],
  [502, { head: 'litellm.BadGatewayError: BadGatewayError: % - ', failure: 'badGateway' }],
  [503, { head: 'litellm.ServiceUnavailableError: ServiceUnavailableError: % - ', failure: 'unavailable' }],
]);

/** Returns the failure of a status that has no class of its own. */
function otherFailure(status: number): FailureKind {
  if (status >= 500) return 'internalServer';
  // 402: the account has no money left. 409: the upstream was changing, so another try may succeed.
  return status === 402 ? 'permission' : status === 409 ? 'unavailable' : 'badRequest';
}

/** Texts of model servers for a prompt that is too long. Only OpenAI sends a code for it. */
const contextWindowMessage =
  /maximum context length|context length of|context limit|longer than the (model's )?(maximum )?(context|model) length|available context size|context window|maximum number of tokens allowed|maximum input length|prompt is too long|input (is )?too long|too many input tokens|tokens exceed the configured limit|current length is \d+ while limit is|`inputs` tokens \+ `max_new_tokens`/i;

function isContextWindow(code: string | null, message: string): boolean {
  return code === 'context_length_exceeded' || contextWindowMessage.test(message);
}

/** Codes of OpenAI and of Azure for content that they refuse. */
const contentPolicyCodes: ReadonlySet<string | null> = new Set([
  'content_policy_violation',
  'content_filter',
  'moderation_blocked',
]);
/** Texts of vendors for content that they refuse. */
const contentPolicyMessage =
  /content management policy|rejected as a result of (our|the) safety system|content_policy_violation|content filtering policy/i;

function isContentPolicy(code: string | null, message: string): boolean {
  return contentPolicyCodes.has(code) || contentPolicyMessage.test(message);
}
