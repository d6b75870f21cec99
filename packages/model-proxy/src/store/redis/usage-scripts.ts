/** The scripts about usage that Redis runs. Each is atomic. */

/**
 * Adds the usage of a replica, and returns what keys have spent.
 * KEYS: the spends of the keys, then the days with usage, each a hash.
 * ARGV: the number of spends to add, for each its field and the cost; the number of rows, for each the
 * index of its day in KEYS, its field and six numbers; then the fields of the spends to return; then
 * the fields to remove, with `-` before the name.
 * Answer: the returned spends, as strings; null: there is none.
 */
export const addScript = `
local at = 2
for _ = 1, tonumber(ARGV[1]) do
  redis.call('HINCRBYFLOAT', KEYS[1], ARGV[at], ARGV[at + 1])
  at = at + 2
end
local rows = tonumber(ARGV[at])
at = at + 1
for _ = 1, rows do
  local day = KEYS[tonumber(ARGV[at])]
  for n = 1, 6 do
    if ARGV[at + 1 + n] ~= '0' then
      redis.call(n == 6 and 'HINCRBYFLOAT' or 'HINCRBY', day, n .. ARGV[at + 1], ARGV[at + 1 + n])
    end
  end
  at = at + 8
end
local answer = {}
while at <= #ARGV do
  answer[#answer + 1] = redis.call('HGET', KEYS[1], ARGV[at])
  at = at + 1
end
return answer`;

/** Sets a spend. KEYS: the spends. ARGV: field, value. */
export const setScript = `redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])`;

/** Returns the rows of days. KEYS: the days. Answer: for each day the list of its fields and values. */
export const readScript = `
local answer = {}
for i, day in ipairs(KEYS) do answer[i] = redis.call('HGETALL', day) end
return answer`;

/**
 * Counts requests of keys, if their limits allow it. Time is Redis's own, so that all replicas agree.
 * KEYS[1]: prefix of the counters. ARGV: for each request the digest, the limits of requests, tokens
 * and parallel requests (empty: none), and the name of the replica.
 * Answer: for each request 0 and what is left, or the kind of the limit (1, 2, 3); then the ms to wait.
 */
export const admitScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {}
for at = 1, #ARGV, 5 do
  local key = KEYS[1] .. ARGV[at]
  local rpm, tpm, parallel = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local found = redis.call('HMGET', key, 'ends', 'requests', 'tokens')
  local ends, requests, tokens = tonumber(found[1] or '0'), tonumber(found[2] or '0'), tonumber(found[3] or '0')
  if now >= ends then
    ends, requests, tokens = now + 60000, 0, 0
    redis.call('HSET', key, 'ends', ends, 'requests', 0, 'tokens', 0)
  end
  local refused = 0
  if rpm and requests >= rpm then refused = 1
  elseif tpm and tokens >= tpm then refused = 2
  elseif parallel then
    local running = 0
    local fields = redis.call('HGETALL', key)
    for i = 1, #fields, 2 do
      if string.sub(fields[i], 1, 4) == 'run:' then
        if redis.call('EXISTS', KEYS[2] .. string.sub(fields[i], 5)) == 1 then running = running + tonumber(fields[i + 1])
        else redis.call('HDEL', key, fields[i]) end
      end
    end
    if running >= parallel then refused = 3 end
  end
  if refused == 0 then
    requests = requests + 1
    redis.call('HSET', key, 'requests', requests)
    if parallel then redis.call('HINCRBY', key, 'run:' .. ARGV[at + 4], 1) end
  end
  redis.call('PEXPIRE', key, parallel and 86400000 or 120000)
  answer[#answer + 1] = refused
  answer[#answer + 1] = ends - now
  answer[#answer + 1] = requests
  answer[#answer + 1] = tokens
end
return answer`;

/**
 * Ends requests. KEYS[1] as above. ARGV: for each request the digest, its tokens, and the name of the
 * replica if the request counts as parallel, else nothing.
 */
export const releaseScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for at = 1, #ARGV, 3 do
  local key = KEYS[1] .. ARGV[at]
  if tonumber(ARGV[at + 1]) > 0 then
    if now >= tonumber(redis.call('HGET', key, 'ends') or '0') then
      redis.call('HSET', key, 'ends', now + 60000, 'requests', 0, 'tokens', 0)
    end
    redis.call('HINCRBY', key, 'tokens', ARGV[at + 1])
    if ARGV[at + 2] == '' then redis.call('PEXPIRE', key, 120000) end
  end
  local run = 'run:' .. ARGV[at + 2]
  if ARGV[at + 2] ~= '' and redis.call('HINCRBY', key, run, -1) <= 0 then redis.call('HDEL', key, run) end
end`;
