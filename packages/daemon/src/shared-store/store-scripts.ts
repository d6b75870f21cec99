/**
 * The scripts that Redis runs. Each is atomic. The keys are the same for both:
 *
 * - `entries`: a hash of the values, as JSON.
 * - `changed`: a sorted set of the entries by the revision that changed them, also of deleted ones.
 * - `revision`: the number of changes so far.
 * - `epoch`: a random name, created by the first read. If a reader knows another name, Redis has lost its data.
 * - `floor`: the newest revision whose deletions are no longer in `changed`.
 */
import { z } from 'zod';

/** The names of the keys. */
export const keyNames = ['entries', 'changed', 'revision', 'epoch', 'floor'] as const;

/**
 * Returns what changed after a revision.
 * ARGV: the revision, its epoch (empty: all entries), a name for a new epoch. The answer has all entries if the
 * epoch differs, if the revision is older than `floor`, or if Redis has not reached the revision. In the last case,
 * Redis returned to an older state: a copy that lagged became the server, or a backup was restored.
 * Answer: epoch, revision, time in ms, whether the answer has all entries (1) or only the changes
 * (0), then key, revision and value of each entry. The value of a deleted entry is null.
 */
export const readScript = `
local epoch = redis.call('GET', KEYS[4])
if not epoch then
  epoch = ARGV[3]
  redis.call('SET', KEYS[4], epoch)
end
local time = redis.call('TIME')
local revision = tonumber(redis.call('GET', KEYS[3]) or '0')
local known = tonumber(ARGV[1])
local floor = tonumber(redis.call('GET', KEYS[5]) or '0')
local all = epoch ~= ARGV[2] or known > revision or known < floor
local answer = {epoch, revision, time[1] * 1000 + math.floor(time[2] / 1000), all and 1 or 0}
if not all and known == revision then return answer end
local changed = redis.call('ZRANGEBYSCORE', KEYS[2], all and '-inf' or ('(' .. known), '+inf', 'WITHSCORES')
for i = 1, #changed, 2 do
  answer[#answer + 1] = changed[i]
  answer[#answer + 1] = tonumber(changed[i + 1])
  answer[#answer + 1] = redis.call('HGET', KEYS[1], changed[i])
end
return answer`;

/** The answer of {@link readScript}. */
export const readAnswer = z
  .tuple([z.string(), z.number(), z.number(), z.number()])
  .rest(z.union([z.string(), z.number(), z.null()]));

/**
 * Changes entries, if none of them has changed meanwhile.
 * ARGV: the channel, then for each entry: key, expected revision (0: there must be none; empty:
 * any), then `1` and the new value, or `0` and an empty text, which deletes the entry. Answer: 1,
 * or 0 if another replica was faster.
 */
export const writeScript = `
for i = 2, #ARGV, 4 do
  if ARGV[i + 1] ~= '' then
    local live = redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1
    local found = live and tonumber(redis.call('ZSCORE', KEYS[2], ARGV[i])) or 0
    if found ~= tonumber(ARGV[i + 1]) then return 0 end
  end
end
local revision = redis.call('INCR', KEYS[3])
for i = 2, #ARGV, 4 do
  if ARGV[i + 2] == '1' then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 3])
  else redis.call('HDEL', KEYS[1], ARGV[i]) end
  redis.call('ZADD', KEYS[2], revision, ARGV[i])
end
if redis.call('ZCARD', KEYS[2]) - redis.call('HLEN', KEYS[1]) > 2000 then
  local oldest = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
  local removed = 0
  for i = 1, #oldest, 2 do
    if redis.call('HEXISTS', KEYS[1], oldest[i]) == 0 then
      redis.call('ZREM', KEYS[2], oldest[i])
      redis.call('SET', KEYS[5], oldest[i + 1])
      removed = removed + 1
      if removed == 1000 then break end
    end
  end
end
redis.call('PUBLISH', ARGV[1], tostring(revision))
return 1`;
