/** The script with which Redis divides the limits of keys among proxies. Redis runs a script atomically. */

/**
 * Stores the reports of a proxy about keys, and grants it shares of their limits. `limit-share.ts`
 * explains the protocol.
 *
 * The numbers of a report are absolute, and replace those of the last report of the proxy. So the
 * next report corrects what a lost, repeated or late call has changed. The minute is that of the
 * clock of Redis, so that all proxies have the same one.
 *
 * KEYS: the prefix of the hashes of shares (one for each virtual key and limit, with a field for each
 * proxy), and the prefix of the keys of living proxies.
 * ARGV: the name of the proxy; then for each virtual key its digest, and the end of the minute that
 * the report is about (empty: the present minute); then for requests, tokens and parallel requests:
 * the limit (empty: none), the number in use, the number that waiting requests need, the number
 * that the proxy wants in reserve. The reserve is at most an eighth of what is left. So a limit below
 * 8 leaves no reserve.
 * Answer: for each virtual key the end of the minute, and the milliseconds until then; then for each
 * limit the share of the proxy, which includes what is in use, and the sum of the other shares.
 */
export const shareScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local me = ARGV[1]
local answer = {}
for at = 2, #ARGV, 14 do
  local key = KEYS[1] .. ARGV[at]
  local ends = tonumber(redis.call('GET', key .. ':ends') or '0')
  if now >= ends then
    ends = now + 60000
    redis.call('SET', key .. ':ends', ends, 'PX', 60000)
    redis.call('DEL', key .. ':1', key .. ':2')
  end
  local isPresent = ARGV[at + 1] == '' or tonumber(ARGV[at + 1]) == ends
  answer[#answer + 1] = ends
  answer[#answer + 1] = ends - now
  for kind = 1, 3 do
    local first = at + kind * 4 - 2
    local limit, used = tonumber(ARGV[first]), tonumber(ARGV[first + 1])
    local needed, reserve = tonumber(ARGV[first + 2]), tonumber(ARGV[first + 3])
    local share, others = 0, 0
    if limit then
      if kind < 3 and not isPresent then used = 0 end
      local shares = key .. ':' .. kind
      local all = redis.call('HGETALL', shares)
      for i = 1, #all, 2 do
        if kind == 3 and all[i] ~= me and redis.call('EXISTS', KEYS[2] .. all[i]) == 0 then
          redis.call('HDEL', shares, all[i])
        elseif all[i] ~= me then
          others = others + tonumber(all[i + 1])
        end
      end
      local left = math.max(0, limit - others - used)
      needed = math.min(needed, left)
      share = used + needed + math.min(reserve, math.floor((left - needed) / 8))
      if share == 0 then redis.call('HDEL', shares, me)
      else
        redis.call('HSET', shares, me, share)
        redis.call('PEXPIRE', shares, 60000)
      end
    end
    answer[#answer + 1] = share
    answer[#answer + 1] = others
  end
end
return answer`;
