/** The scripts about usage that Redis runs. Each is atomic. */

/** The names of the first KEYS of {@link usageScript}. */
export const spendNames = ['spends', 'spend-ends', 'spend-changes', 'spend-revision', 'entries'] as const;

/**
 * Adds a batch of one proxy (a replica). Returns the spend of each virtual key whose spend changed after a revision.
 *
 * KEYS:
 * - `spends`: a hash of what each key has spent in its period.
 * - `spend-ends`: a hash of the ends of these periods. A key without periods has none.
 * - `spend-changes`: a sorted set of the keys by the revision that changed their spend.
 * - `spend-revision`: the number of changes so far.
 * - `entries`: the hash of the shared store. Its fields `key/…` are the virtual keys.
 * - the number of the last batch of the replica, stored for 7 days. Redis ignores a batch without a higher number.
 * - one hash for each day with usage. A row has six numbers, in the fields `1FIELD` to `6FIELD`. The field `tags`
 *   is the number of rows that count a tag.
 *
 * ARGV: the number of the batch (0: no batch), the time in ms, the known revision (0: none), then five
 * lists, each after its length:
 * - keys that were deleted;
 * - spends to set: key, spend, end of the period (the script ignores deleted keys);
 * - costs to add: key, cost, end of the period (the script ignores deleted keys, and a period that has ended);
 * - rows: index of the day, field, field of the row that counts further tags (empty: the row counts no tag),
 *   six numbers;
 * - the times in ms when the days expire.
 * The last argument is the maximum number of rows of tags of a day.
 *
 * Answer: the revision, whether the list is complete, then key, spend and end of each changed spend.
 */
export const usageScript = `
local now, at = tonumber(ARGV[2]), 4
local function take(count)
  local found = {}
  for i = 1, count do found[i] = ARGV[at + i - 1] end
  at = at + count
  return found
end
local function each(size, handle)
  for _ = 1, tonumber(take(1)[1]) do handle(unpack(take(size))) end
end
local function exists(key) return redis.call('HEXISTS', KEYS[5], 'key/' .. key) == 1 end
local function remove(key)
  if exists(key) then return end
  redis.call('HDEL', KEYS[1], key)
  redis.call('HDEL', KEYS[2], key)
  redis.call('ZREM', KEYS[3], key)
end
local function finish(key, ending)
  if ending == '' then redis.call('HDEL', KEYS[2], key) else redis.call('HSET', KEYS[2], key, ending) end
  redis.call('ZADD', KEYS[3], redis.call('INCR', KEYS[4]), key)
end
local function set(key, spend, ending)
  if not exists(key) then return end
  redis.call('HSET', KEYS[1], key, spend)
  finish(key, ending)
end
local function add(key, cost, ending)
  if not exists(key) then return end
  local stored = redis.call('HGET', KEYS[2], key)
  if ending ~= '' then
    if now >= tonumber(ending) then return end
    if stored and now >= tonumber(stored) then
      redis.call('HDEL', KEYS[1], key)
      stored = false
    end
    if stored and tonumber(stored) < tonumber(ending) then ending = stored end
  end
  redis.call('HINCRBYFLOAT', KEYS[1], key, cost)
  finish(key, ending)
end
-- An error would end the script in the middle of the batch. An upstream may report more tokens than an integer can have.
local function increase(day, field, number, isCost)
  local answer = not isCost and redis.pcall('HINCRBY', day, field, number)
  if not answer or type(answer) == 'table' then redis.pcall('HINCRBYFLOAT', day, field, number) end
end
local function row(index, field, further, ...)
  local day = KEYS[6 + index]
  if further ~= '' and redis.call('HEXISTS', day, '1' .. field) == 0 then
    if tonumber(redis.call('HGET', day, 'tags') or '0') >= tonumber(ARGV[#ARGV]) then field = further
    else redis.call('HINCRBY', day, 'tags', 1) end
  end
  for n, number in ipairs({...}) do
    if number ~= '0' then increase(day, n .. field, number, n == 6) end
  end
end
if tonumber(ARGV[1]) > tonumber(redis.call('GET', KEYS[6]) or '0') then
  redis.call('SET', KEYS[6], ARGV[1], 'PX', 604800000)
  each(1, remove)
  each(3, set)
  each(3, add)
  each(9, row)
  local day = 6
  each(1, function(time)
    day = day + 1
    redis.call('PEXPIREAT', KEYS[day], time)
  end)
end
local known = tonumber(ARGV[3])
local revision = tonumber(redis.call('GET', KEYS[4]) or '0')
local all = known == 0 or known > revision
local answer = {revision, all and 1 or 0}
if not all and known == revision then return answer end
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], all and '-inf' or ('(' .. ARGV[3]), '+inf')) do
  if exists(key) then
    answer[#answer + 1] = key
    answer[#answer + 1] = redis.call('HGET', KEYS[1], key) or '0'
    answer[#answer + 1] = redis.call('HGET', KEYS[2], key) or ''
  end
end
return answer`;

/** Sets when days expire. KEYS: the days. ARGV: for each the time in ms. A time in the past deletes its day. */
export const expiryScript = `
for i, day in ipairs(KEYS) do redis.call('PEXPIREAT', day, ARGV[i]) end`;

/** Returns a part of a day. KEYS: the day. ARGV: the cursor of HSCAN, and about how many fields to return. */
export const readScript = `return redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])`;
