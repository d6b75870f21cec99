/** The stored form of a virtual key. */
import { hash } from 'node:crypto';
import { z } from 'zod';

const names = z.array(z.string());
const limit = z.number().nonnegative().nullable();

/**
 * The form of a stored key. A store may contain keys of an older version, so new members need a
 * default. Times are milliseconds since 1970.
 */
export const storedKey = z.object({
  /** The short form of the key in lists: `sk-...` and the end of the key, such as `sk-...AbCd`. */
  name: z.string(),
  alias: z.string().nullable(),
  /** Public names and wildcards that the key may use; empty: all. */
  models: names,
  /** Names that the key may send, with the public names that they mean. */
  aliases: z.record(z.string(), z.string()),
  rpmLimit: limit,
  tpmLimit: limit,
  maxParallelRequests: limit,
  /** US dollars in a period. */
  maxBudget: limit,
  /** Crossing it sends an alert, and rejects no request. */
  softBudget: limit.default(null),
  /** LiteLLM's form: `30d`. null: the budget is for the whole life of the key. */
  budgetDuration: z.string().nullable(),
  /** null: never. */
  expiresAt: z.number().nullable(),
  /**
   * Paths that the key may request, and LiteLLM's names of groups of routes; empty: all paths that
   * need no master key.
   */
  allowedRoutes: names,
  /** Tags of all requests with this key. */
  tags: names,
  metadata: z.record(z.string(), z.unknown()),
  blocked: z.boolean(),
  userId: z.string().nullable(),
  teamId: z.string().nullable(),
  createdAt: z.number(),
  updatedAt: z.number(),
});

/** A virtual key without its secret; never mutated. */
export type StoredKey = Readonly<z.infer<typeof storedKey>>;

/** Returns the digest of a key: 64 hexadecimal digits. The store has only digests. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'hex');
}

/** Matches a digest. LiteLLM's API accepts a digest wherever it accepts a key. */
export const digestPattern = /^[0-9a-f]{64}$/;
