/**
 * Access tokens of Microsoft Entra ID for an application: by a secret, or by the token of a
 * Kubernetes pod (workload identity).
 * @see https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 */
import type { TargetSettings } from '../target.js';
import type { TokenSettings } from '../token.js';

const AUTHORITY = 'https://login.microsoftonline.com';
const SCOPE = 'https://cognitiveservices.azure.com/.default';

/**
 * Returns how to get the tokens; null: the configuration has no application.
 */
export function entraToken({ value }: Pick<TargetSettings, 'value'>): TokenSettings | null {
  const tenant = value('tenant_id', 'AZURE_TENANT_ID');
  const client = value('client_id', 'AZURE_CLIENT_ID');
  const secret = value('client_secret', 'AZURE_CLIENT_SECRET');
  const assertionFile = value(null, 'AZURE_FEDERATED_TOKEN_FILE');
  if (tenant === undefined || client === undefined) return null;
  if (secret === undefined && assertionFile === undefined) return null;
  const authority = (value(null, 'AZURE_AUTHORITY_HOST') ?? AUTHORITY).replace(/\/+$/, '');
  const application = {
    grant_type: 'client_credentials',
    client_id: client,
    scope: value('azure_scope', 'AZURE_SCOPE') ?? SCOPE,
  };
  const url = `${authority}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
  if (secret !== undefined)
    return { kind: 'oauth', issuer: 'Microsoft Entra ID', url, form: { ...application, client_secret: secret } };
  const form = { ...application, client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' };
  return {
    kind: 'oauth',
    issuer: 'Microsoft Entra ID',
    url,
    form,
    fileMember: ['client_assertion', assertionFile ?? ''],
  };
}
