/** Keys in the form of LiteLLM's answers. */
import { periodAt } from '../store/budget-periods.js';
import type { StoredKey } from '../store/keys.js';
import type { Store } from '../store/store.js';

const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

/** Members of LiteLLM's keys that have the same value in all keys here. */
const FIXED = {
  config: {},
  permissions: {},
  model_spend: {},
  model_max_budget: {},
  allowed_cache_controls: [],
  guardrails: null,
  litellm_budget_table: null,
  organization_id: null,
  created_by: 'default_user_id',
  updated_by: 'default_user_id',
} as const;

/** Returns a key as LiteLLM shows it, without its digest. */
export function shownKey(key: StoredKey, { spend, resetAt }: ReturnType<typeof periodAt>, now: number) {
  return {
    ...FIXED,
    key_name: key.name,
    key_alias: key.alias,
    spend,
    max_budget: key.maxBudget,
    soft_budget: key.softBudget,
    budget_duration: key.budgetDuration,
    budget_reset_at: time(resetAt),
    expires: time(key.expiresAt),
    models: key.models,
    aliases: key.aliases,
    rpm_limit: key.rpmLimit,
    tpm_limit: key.tpmLimit,
    max_parallel_requests: key.maxParallelRequests,
    allowed_routes: key.allowedRoutes,
    tags: key.tags,
    metadata: key.metadata,
    blocked: key.blocked,
    user_id: key.userId,
    team_id: key.teamId,
    created_at: time(key.createdAt),
    updated_at: time(key.updatedAt),
    status: statusOf(key, now),
  };
}

/** Returns LiteLLM's status of a key. */
export function statusOf({ blocked, expiresAt }: StoredKey, now: number): 'active' | 'expired' | 'revoked' {
  if (blocked) return 'revoked';
  return expiresAt !== null && now >= expiresAt ? 'expired' : 'active';
}

/** Returns a key with its digest, in the form of an element of `/key/list`. */
export function fullKey(store: Store, digest: string, key: StoredKey, now: number) {
  return { token: digest, ...shownKey(key, store.spendOf(digest), now) };
}
