/**
 * The scripts of the events and logs that all replicas share. Each is atomic. The first keys are the same:
 *
 * - KEYS[1]: a list of the latest events, oldest first.
 * - KEYS[2]: the number of events so far.
 * - KEYS[3]: a random name, made with the first event. Another name means that Redis lost its data.
 */

/**
 * Adds an event, and its entry to a log.
 * KEYS[4]: the channel; [5]: the last state that was reported for the machine; [6]: the log; [7]: the
 * number of its entries so far; [8]: the names of all logs.
 * ARGV: the event; the maximum number of events; a name for new data; the reported state, or nothing; 1 if
 * the replica has only observed it; the replica; the time in ms for which the others do not report it; the
 * name of the log, or nothing; the entry, or nothing: it removes the log; the maximum number of entries.
 */
export const appendScript = `
if ARGV[4] ~= '' then
  local last = redis.call('GET', KEYS[5])
  local own = ARGV[6] .. ' ' .. ARGV[4]
  if ARGV[5] == '1' and last and last ~= own and string.sub(last, #ARGV[6] + 2) == ARGV[4] then return 0 end
  redis.call('SET', KEYS[5], own, 'PX', ARGV[7])
end
redis.call('SET', KEYS[3], ARGV[3], 'NX')
redis.call('INCR', KEYS[2])
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], -ARGV[2], -1)
if ARGV[8] ~= '' then
  if ARGV[9] == '' then
    redis.call('DEL', KEYS[6], KEYS[7])
    redis.call('SREM', KEYS[8], ARGV[8])
  else
    local id = redis.call('INCR', KEYS[7])
    redis.call('RPUSH', KEYS[6], '{"id":' .. id .. ',' .. string.sub(ARGV[9], 2))
    redis.call('LTRIM', KEYS[6], -ARGV[10], -1)
    redis.call('SADD', KEYS[8], ARGV[8])
  end
end
redis.call('PUBLISH', KEYS[4], '')
return 1`;

/**
 * Returns the events after a number.
 * ARGV: the number, the name of its data.
 * Answer: the name of the data, the number of the newest event, and the events, oldest first.
 */
export const readScript = `
local run = redis.call('GET', KEYS[3]) or ''
local newest = tonumber(redis.call('GET', KEYS[2]) or '0')
local known = run == ARGV[2] and tonumber(ARGV[1]) or 0
if known >= newest then return {run, newest} end
return {run, newest, unpack(redis.call('LRANGE', KEYS[1], known - newest, -1))}`;
