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

/** The names of these keys. */
export const eventKeys = ['events:numbered', 'events:number', 'events:run'] as const;

/**
 * Numbers that Redis skips after it has lost events. No replica knows so many events that Redis has
 * lost.
 */
const SKIPPED_NUMBERS = 1000;

/**
 * Adds events, and their entries to logs.
 * KEYS[4]: the channel; [5]: the names of all logs; then for each event: the last state that was
 * reported for the machine; the log; the number of its entries so far. ARGV: the maximum number of
 * events; a name for new data; the replica; the time in ms for which other replicas do not report
 * the same state; the maximum number of entries of a log; then for each event: the event; the
 * reported state, or nothing; 1 if the replica has only observed it; the name of the log, or
 * nothing; the entry, or nothing: it removes the log. Answer: a text for each log that Redis has
 * rejected to change. Its event is stored nevertheless.
 */
export const appendScript = `
local failures = {}
local function try(log, ...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  failures[#failures + 1] = log .. ': ' .. answer.err
end
local function isReported(key, state, observed)
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
  if not isReported(KEYS[key], ARGV[i + 1], ARGV[i + 2]) then
    redis.call('RPUSH', KEYS[1], redis.call('INCR', KEYS[2]) .. ' ' .. ARGV[i])
    if ARGV[i + 3] ~= '' then addEntry(ARGV[i + 3], ARGV[i + 4], KEYS[key + 1], KEYS[key + 2]) end
  end
  key = key + 3
end
redis.call('LTRIM', KEYS[1], -ARGV[1], -1)
redis.call('PUBLISH', KEYS[4], '')
return failures`;

/**
 * Returns the events after an event that the replica knows.
 * ARGV: its number, the name of its data, the SHA-1 of its element.
 * Answer: the name of the data; the newest number; `some` if the known event was found, `all` if
 * not; then the elements, oldest first: those after it, or all. If Redis has lost the known event,
 * the next number is one that no replica has seen.
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
