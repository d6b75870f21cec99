/**
 * The scripts of the events and logs that all replicas share. Each is atomic. The first keys are
 * the same:
 *
 * - KEYS[1]: a list of the latest events, oldest first. An element is the number of the event, a
 *   space, and the event. The numbers grow, and may have gaps.
 * - KEYS[2]: the newest number.
 * - KEYS[3]: a random name, which is created with the first event. If the name changes, Redis has
 *   lost its data.
 */

/** The names of KEYS[1], KEYS[2] and KEYS[3]. */
export const eventKeys = ['events:numbered', 'events:number', 'events:run'] as const;

/**
 * Number of event numbers that Redis skips after it has lost events. A new event then has a higher
 * number than all lost events that a replica may still know.
 */
const SKIPPED_NUMBERS = 1000;

/**
 * Adds events, and their entries to logs.
 *
 * - KEYS[4]: the channel.
 * - KEYS[5]: the names of all logs.
 * - Three more keys for each event: the last reported state of the machine, the log, the number of
 *   entries that the log has had.
 * - ARGV[1]: the maximum number of events.
 * - ARGV[2]: the random name for KEYS[3] if that key does not exist.
 * - ARGV[3]: the replica.
 * - ARGV[4]: the time in ms for which other replicas do not report the same state.
 * - ARGV[5]: the maximum number of entries of a log.
 * - Five more arguments for each event; all except the first can be empty:
 *   1. the event
 *   2. the reported state
 *   3. 1 if the replica has only observed the state
 *   4. the name of the log
 *   5. the entry; an empty entry removes the log
 * - Answer: a text for each log that Redis could not change. Redis has stored the events of these logs
 *   nevertheless.
 *
 * The script skips an event, and its entry, if the replica has only observed the state and another
 * replica has already reported it.
 */
export const appendScript = `
local failures = {}
local function try(log, ...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  failures[#failures + 1] = log .. ': ' .. answer.err
end
-- Returns true if another replica has reported the observed state. Otherwise, stores the state.
local function isReportedElsewhere(key, state, observed)
  if state == '' then return false end
  local last = redis.pcall('GET', key)
  local own = ARGV[3] .. ' ' .. state
  if observed == '1' and type(last) == 'string' and last ~= own and string.sub(last, #ARGV[3] + 2) == state then
    return true
  end
  redis.call('SET', key, own, 'PX', ARGV[4])
  return false
end
local function addEntry(name, entry, list, number)
  if entry == '' then
    redis.call('DEL', list, number)
    try(name, 'SREM', KEYS[5], name)
    return
  end
  local id = try(name, 'INCR', number)
  if not id or not try(name, 'RPUSH', list, '{"id":' .. id .. ',' .. string.sub(entry, 2)) then return end
  try(name, 'LTRIM', list, -ARGV[5], -1)
  try(name, 'SADD', KEYS[5], name)
end
redis.call('SET', KEYS[3], ARGV[2], 'NX')
local key = 6
for i = 6, #ARGV, 5 do
  if not isReportedElsewhere(KEYS[key], ARGV[i + 1], ARGV[i + 2]) then
    redis.call('RPUSH', KEYS[1], redis.call('INCR', KEYS[2]) .. ' ' .. ARGV[i])
    if ARGV[i + 3] ~= '' then addEntry(ARGV[i + 3], ARGV[i + 4], KEYS[key + 1], KEYS[key + 2]) end
  end
  key = key + 3
end
redis.call('LTRIM', KEYS[1], -ARGV[1], -1)
redis.call('PUBLISH', KEYS[4], '')
return failures`;

/**
 * Returns the events after the newest event that the replica knows (the known event).
 *
 * - ARGV[1]: the number of the known event.
 * - ARGV[2]: the value of KEYS[3] when the replica read this event.
 * - ARGV[3]: the SHA-1 of the element in KEYS[1] with this event.
 * - Answer: the values of KEYS[3] and KEYS[2]. Then `some` and the elements after the known event, or
 *   `all` and all elements if Redis does not have the known event. Elements are oldest first.
 *
 * If Redis has lost the known event but still has KEYS[3], the next event gets a number that no replica
 * has seen. If Redis has lost all data, the numbers begin again at 1, with another KEYS[3].
 */
export const readScript = `
local run = redis.call('GET', KEYS[3]) or ''
local newest = tonumber(redis.call('GET', KEYS[2]) or '0')
local known = run == ARGV[2] and tonumber(ARGV[1]) or 0
local found, index = false, -1
local element = redis.call('LINDEX', KEYS[1], index)
while element and not found do
  local number = tonumber(string.match(element, '^%d+') or '0')
  if number < known then break end
  if number == known then found = redis.sha1hex(element) == ARGV[3]; break end
  index = index - 1
  element = redis.call('LINDEX', KEYS[1], index)
end
if found then
  if index == -1 then return {run, newest, 'some'} end
  return {run, newest, 'some', unpack(redis.call('LRANGE', KEYS[1], index + 1, -1))}
end
if known > 0 and newest <= known then
  newest = known + ${SKIPPED_NUMBERS}
  redis.call('SET', KEYS[2], newest)
end
return {run, newest, 'all', unpack(redis.call('LRANGE', KEYS[1], 0, -1))}`;
