/** Tokens of other identity providers, in LiteLLM's form `oidc/PROVIDER/…`. */
import type { TargetSettings } from '../target.js';
import type { IdentityToken } from '../token.js';

const GOOGLE = 'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity';

/** Variables of CircleCI with a token. */
const variables = new Map([
  ['circleci', 'CIRCLE_OIDC_TOKEN'],
  ['circleci_v2', 'CIRCLE_OIDC_TOKEN_V2'],
]);

/**
 * Returns the source of a token.
 * @param reference `oidc/google/AUDIENCE`, `oidc/github/AUDIENCE`, `oidc/file/PATH`, `oidc/env/VARIABLE`,
 *   `oidc/env_path/VARIABLE`, `oidc/circleci/` or `oidc/circleci_v2/`.
 * @returns a string: why there is no source.
 * @see https://cloud.google.com/compute/docs/instances/verifying-instance-identity
 * @see https://docs.github.com/actions/reference/security/oidc
 * @see https://circleci.com/docs/openid-connect-tokens/
 */
export function identityTokenOf(reference: string, { value }: Pick<TargetSettings, 'value'>): IdentityToken | string {
  const [, kind = '', rest = ''] = /^oidc\/(\w+)\/(.*)$/.exec(reference) ?? [];
  const audience = encodeURIComponent(rest);
  if (kind === 'google')
    return { issuer: { url: `${GOOGLE}?audience=${audience}`, headers: { 'metadata-flavor': 'Google' } } };
  if (kind === 'file') return { file: rest };
  if (kind === 'env_path') {
    const file = value(null, rest);
    return file === undefined ? `${rest} is not set` : { file };
  }
  const variable = kind === 'env' ? rest : variables.get(kind);
  if (variable !== undefined) {
    const text = value(null, variable);
    return text === undefined ? `${variable} is not set` : { text };
  }
  if (kind !== 'github') return `${reference.split('/', 2).join('/')}/… is not implemented`;
  const url = value(null, 'ACTIONS_ID_TOKEN_REQUEST_URL');
  const token = value(null, 'ACTIONS_ID_TOKEN_REQUEST_TOKEN');
  if (url === undefined || token === undefined) return 'ACTIONS_ID_TOKEN_REQUEST_URL or …_TOKEN is not set';
  return { issuer: { url: `${url}&audience=${audience}`, headers: { authorization: `Bearer ${token}` } } };
}
