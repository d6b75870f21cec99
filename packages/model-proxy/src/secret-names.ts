/**
 * Patterns for names that suggest a secret value. All pages and logs use them, so that they mask
 * the same values.
 */

/**
 * Matches names of secret headers and of request additions. Prefers false positives to false
 * negatives.
 */
export const secretHeader = /auth|key|token|secret|cookie|password|credential/i;

/**
 * Matches names of secret parameters, also in `model_info`: `api_key`, but not `max_tokens` or
 * `input_cost_per_token`.
 */
export const secretParameter = /(?:key|secret|password|authorization|credentials?|(?:access|auth|bearer)_token)$/i;
