/**
 * Ids of responses that lead back to the deployment that made them. The id itself contains the deployment,
 * so that it works after a restart and at every replica. The form is LiteLLM's.
 * @see https://docs.litellm.ai/docs/response_api
 */

/** A response at its upstream. */
interface StoredResponse {
  /** {@link Deployment.id}. */
  readonly deploymentId: string;
  /** The upstream's id of the response. */
  readonly upstreamId: string;
}

/** The member of a request that continues an earlier response. */
export const PREVIOUS_RESPONSE = 'previous_response_id';

const PREFIX = 'resp_';
/** Matches a decoded id. The upstream's part is any text except `.` and `..`, which are steps in a URL's path. */
const content = /^litellm:custom_llm_provider:[^;]*;model_id:([^;]+);response_id:(?!\.{1,2}$)(.+)$/s;
/** Longer texts are not ids. */
const MAX_LENGTH = 4096;

/** Returns the id that clients see. */
export function encodeResponseId(provider: string, { deploymentId, upstreamId }: StoredResponse): string {
  const text = `litellm:custom_llm_provider:${provider};model_id:${deploymentId};response_id:${upstreamId}`;
  return PREFIX + Buffer.from(text).toString('base64url');
}

/** Reads an id. @returns undefined: the value is an id of the upstream itself, or no id. */
export function decodeResponseId(id: unknown): StoredResponse | undefined {
  if (typeof id !== 'string' || !id.startsWith(PREFIX) || id.length > MAX_LENGTH) return undefined;
  const text = Buffer.from(id.slice(PREFIX.length), 'base64').toString();
  const [, deploymentId, upstreamId] = content.exec(text) ?? [];
  return deploymentId === undefined || upstreamId === undefined ? undefined : { deploymentId, upstreamId };
}
