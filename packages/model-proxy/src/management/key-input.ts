/** The members of LiteLLM's requests about keys, and what they change in a key. */
import { nearestName } from '@rackless/daemon/text/nearest-name.js';
import { z } from 'zod';
import { isRoute } from '../auth/virtual-key.js';
import { invalidParameter } from '../errors/model.js';
import { requestFault } from '../errors/proxy-error.js';
import { isWithinDepth } from '../json/depth.js';
import { endOfDuration, endOfPeriod } from '../store/budget-periods.js';
import type { StoredKey } from '../store/keys.js';

const MAX_NAMES = 1000;
const MAX_METADATA_LENGTH = 16_384;
/** Maximum nesting depth of `metadata`. JSON.stringify exceeds the stack only at a few thousand levels. */
const MAX_METADATA_DEPTH = 100;
/** Maximum length of a key as JSON, in characters. In UTF-8, such a key stays below the limit for a line of the store. */
const MAX_KEY_LENGTH = 262_144;

// Control characters could forge lines of a log in text form.
const name = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}\u2028\u2029]*$/u);
const names = z.array(name).max(MAX_NAMES);
const route = name.refine(isRoute, 'an entry is a path such as /v1/chat/completions or /vllm/*, or llm_api_routes');
const limit = z.int().nonnegative();
const money = z.number().nonnegative();

/**
 * The members that change a key. null removes a setting, and so does an empty list, object, budget or duration. For
 * `allowed_routes`, `key_type` and `spend`, null changes nothing.
 */
const schema = z.object({
  key_alias: name.nullish(),
  duration: z.string().nullish(),
  models: names.nullish(),
  aliases: z.record(name, name).nullish(),
  rpm_limit: limit.nullish(),
  tpm_limit: limit.nullish(),
  max_parallel_requests: limit.nullish(),
  max_budget: z.union([money, z.literal('')]).nullish(),
  soft_budget: z.union([money, z.literal('')]).nullish(),
  budget_duration: z.string().nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  tags: names.nullish(),
  allowed_routes: z.array(route).max(MAX_NAMES).nullish(),
  key_type: z.enum(['llm_api', 'management', 'read_only', 'default']).nullish(),
  blocked: z.boolean().nullish(),
  user_id: name.nullish(),
  team_id: name.nullish(),
  spend: money.nullish(),
});

/** The members of a request that change a key. */
type KeyInput = Readonly<z.infer<typeof schema>>;

/** LiteLLM's members that have no effect in this proxy, and `key`, which other functions read. */
const ignored: ReadonlySet<string> = new Set(
  `key config permissions send_invite_email allowed_cache_controls auto_rotate rotation_interval organization_id project_id
  agent_id rpm_limit_type tpm_limit_type key_name duration_seconds enable_prompt_caching`.split(/\s+/),
);
/**
 * LiteLLM's members that restrict a key. The proxy rejects them, because a key without the restriction could do more
 * than its owner says.
 */
const unsupported: ReadonlySet<string> = new Set(
  `model_max_budget model_rpm_limit model_tpm_limit tpd_limit tag_rpm_limit mcp_rpm_limit budget_limits budget_id budget_fallbacks
  guardrails policies prompts enforced_params allowed_passthrough_routes denied_passthrough_routes object_permission router_settings
  access_group_ids allowed_vector_store_indexes end_user_budget_id temp_budget_increase temp_budget_expiry
  throttle_on_budget_exceeded`.split(/\s+/),
);

/**
 * Parses the members that change a key. Ignores LiteLLM's members that have no effect in this proxy. Also ignores
 * unknown or unsupported members whose value is empty, null or false.
 * @throws {ProxyError} 400: a member is unknown, not implemented or invalid.
 */
export function parseKeyInput(body: Readonly<Record<string, unknown>>): KeyInput {
  const known = Object.keys(schema.shape);
  for (const [member, value] of Object.entries(body)) {
    if (known.includes(member) || ignored.has(member) || isEmpty(value)) continue;
    if (unsupported.has(member)) throw requestFault(`'${member}' is not implemented here.`, { param: member });
    const nearest = nearestName(member, known);
    throw invalidParameter(
      member.slice(0, 100),
      nearest === undefined ? 'is unknown' : `is unknown: did you mean '${nearest}'?`,
    );
  }
  const { data, error } = schema.safeParse(body);
  if (data === undefined) {
    const [issue] = error.issues;
    throw invalidParameter(issue?.path.join('.') ?? 'body', `has an invalid value: ${issue?.message ?? ''}`);
  }
  if (!isWithinDepth(data.metadata, MAX_METADATA_DEPTH)) throw invalidParameter('metadata', 'is nested too deeply');
  if (JSON.stringify(data.metadata ?? {}).length > MAX_METADATA_LENGTH)
    throw invalidParameter('metadata', 'is too long');
  return data;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === false || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** LiteLLM's types of keys, with the allowed routes of each. An empty list allows paths of models and information. */
const routesOfType = {
  default: [],
  llm_api: ['llm_api_routes'],
  management: ['management_routes'],
  read_only: ['info_routes'],
} as const;

/** Returns a key without limits, with LiteLLM's defaults. @param secretName `sk-...` and the end of the key. */
export function newKey(secretName: string, now: number): StoredKey {
  return {
    name: secretName,
    alias: null,
    models: [],
    aliases: {},
    rpmLimit: null,
    tpmLimit: null,
    maxParallelRequests: null,
    maxBudget: null,
    softBudget: null,
    budgetDuration: null,
    expiresAt: null,
    allowedRoutes: [],
    tags: [],
    metadata: {},
    blocked: false,
    userId: null,
    teamId: null,
    createdAt: now,
    updatedAt: now,
  };
}

/**
 * Returns a key with the changes of a request. Absent members stay, and null removes a setting (exceptions: see the
 * schema). If `tags` is absent, takes the tags of `metadata`.
 * @throws {ProxyError} 400: a duration is invalid, or the key would be too long for the store.
 */
export function changedKey(key: StoredKey, input: KeyInput, now: number): StoredKey {
  const { max_budget: maxBudget, soft_budget: softBudget, key_type: keyType } = input;
  const changed = {
    ...key,
    alias: chosen(input.key_alias, key.alias, null),
    models: chosen(input.models, key.models, []),
    aliases: chosen(input.aliases, key.aliases, {}),
    rpmLimit: chosen(input.rpm_limit, key.rpmLimit, null),
    tpmLimit: chosen(input.tpm_limit, key.tpmLimit, null),
    maxParallelRequests: chosen(input.max_parallel_requests, key.maxParallelRequests, null),
    maxBudget: chosen(maxBudget === '' ? null : maxBudget, key.maxBudget, null),
    softBudget: chosen(softBudget === '' ? null : softBudget, key.softBudget, null),
    budgetDuration: chosen(checkedPeriod(input.budget_duration, now), key.budgetDuration, null),
    expiresAt: chosen(endOf(input.duration, now), key.expiresAt, null),
    allowedRoutes: chosen(input.allowed_routes ?? typeRoutes(keyType), key.allowedRoutes, []),
    tags: chosen(input.tags === undefined ? tagsIn(input.metadata) : input.tags, key.tags, []),
    metadata: chosen(input.metadata, key.metadata, {}),
    blocked: chosen(input.blocked, key.blocked, false),
    userId: chosen(input.user_id, key.userId, null),
    teamId: chosen(input.team_id, key.teamId, null),
    updatedAt: now,
  };
  if (JSON.stringify(changed).length > MAX_KEY_LENGTH)
    throw requestFault(`A key has at most ${MAX_KEY_LENGTH} characters as JSON. Use shorter lists.`);
  return changed;
}

function chosen<Value>(given: Value | null | undefined, before: Value, empty: Value): Value {
  return given === undefined ? before : (given ?? empty);
}

function typeRoutes(type: KeyInput['key_type']): string[] | undefined {
  return type === undefined || type === null ? undefined : [...routesOfType[type]];
}

/** Returns the tags in metadata, where LiteLLM stores the tags of a key; undefined: there are no valid tags. */
function tagsIn(metadata: KeyInput['metadata']): string[] | undefined {
  return names.safeParse(metadata?.['tags']).data;
}

/**
 * Returns the end of a key's life; null: no end, as `-1` means in LiteLLM; undefined: the request does not set it.
 * @throws {ProxyError} 400: the duration is invalid.
 */
function endOf(duration: string | null | undefined, now: number): number | null | undefined {
  if (duration === undefined) return undefined;
  if (duration === null || duration === '' || duration === '-1') return null;
  const end = endOfDuration(duration, now);
  if (end === undefined) throw invalidDuration('duration');
  return end;
}

function checkedPeriod(duration: string | null | undefined, now: number): string | null | undefined {
  if (duration === undefined) return undefined;
  if (duration === null || duration === '') return null;
  if (endOfPeriod(duration, now) === undefined) throw invalidDuration('budget_duration');
  return duration;
}

function invalidDuration(member: string) {
  return invalidParameter(member, 'must be a duration such as 30s, 5m, 24h, 30d, 2w or 1mo');
}
