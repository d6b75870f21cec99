/** Rows of `litellm_params` that only some providers use. */
import { text } from '../setting-types.js';

/** Settings of single providers. */
export const providerRows = {
  accountId: text({
    name: 'account_id',
    default: "the provider's environment variable",
    doc: 'Account at Cloudflare or Snowflake, a part of the address.',
  }),
  tenantId: text({
    name: 'tenant_id',
    default: "the provider's environment variable",
    doc: 'Tenant at Predibase, a part of the address.',
  }),
};
