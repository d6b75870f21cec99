/** Which names hold secrets, as far as names can tell: what one page masks must not stand in another. */

/** Of headers, and of what a configuration adds to requests: rather one too many than one too few. */
export const secretHeader = /auth|key|token|secret|cookie|password|credential/i;

/** Of parameters and of `model_info`: `api_key` is one, `max_tokens` and `input_cost_per_token` are not. */
export const secretParameter = /(?:key|secret|password|authorization|credentials?|(?:access|auth|bearer)_token)$/i;
