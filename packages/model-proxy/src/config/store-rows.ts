/** The settings of the store, in `general_settings`. */
import { boolean, period, text } from './setting-types.js';

/** The rows of `generalTable` about the store. */
export const storeRows = {
  store: text({
    name: 'store',
    secret: true,
    doc: 'Folder for [virtual keys](../guides/keys.md), budgets and usage. The proxy creates the folder. A relative path starts at the working directory. Several proxies can share a Redis instead: `redis://host:6379/0`. Without a store, `master_key` is the only key. A change needs a restart. Not in LiteLLM.',
  }),
  rejectClientTags: boolean({
    name: 'reject_clientside_metadata_tags',
    default: 'false',
    protects: true,
    doc: 'Whether requests with tags in the body (`metadata.tags`, `litellm_metadata.tags`) get 400. With `true`, the proxy also ignores the header `x-litellm-tags`. Tags of virtual keys still count.',
  }),
  keepUsageDays: period({
    name: 'maximum_spend_logs_retention_period',
    doc: 'How long the usage of a day is stored: `30d`, `1y`. The present day counts as one day. Redis stores a day for ten years at most.',
    default: 'without end',
  }),
};
