/**
 * The scripts of the queues that all replicas share. Each script is atomic. All have these keys:
 *
 * - KEYS[1]: a sorted set of the tickets of one queue, in their order. The first one holds the
 *   lease.
 * - KEYS[2]: the same tickets by the time at which they expire, in milliseconds since 1970.
 * - KEYS[3]: a hash with the reasons of cancelled tickets.
 * - KEYS[4]: the number of tickets so far, of all queues.
 * - KEYS[5]: the channel. A message is a ticket whose owner should read its state.
 *
 * A ticket begins with a label and a `|`. The label names the kind of operation that waits, for example `power`.
 */

/** Time after which Redis removes a key whose queue is not used anymore. */
const KEEP_MS = 60_000;

/**
 * Joins a queue, or renews a ticket, even an expired one. Removes all other expired tickets, and notifies the owner of
 * a new first ticket.
 * ARGV: the ticket, 1 if it may join, the duration of the lease in ms.
 * Answer: `first`, `waiting`, or `gone` and the reason of the cancellation; an empty reason: another call has
 * removed the expired ticket, or Redis has lost its data.
 */
export const visitScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
for _, ticket in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do
  if ticket ~= ARGV[1] then
    redis.call('ZREM', KEYS[1], ticket)
    redis.call('ZREM', KEYS[2], ticket)
  end
end
local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
local reason = redis.call('HGET', KEYS[3], ARGV[1])
if not known and not reason and ARGV[2] == '1' then
  redis.call('ZADD', KEYS[1], redis.call('INCR', KEYS[4]), ARGV[1])
  known = true
end
if known then redis.call('ZADD', KEYS[2], now + ARGV[3], ARGV[1]) end
for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ${KEEP_MS}) end
local first = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
if before and first and first ~= before then redis.call('PUBLISH', KEYS[5], first) end
if not known then return {'gone', reason or ''} end
return {first == ARGV[1] and 'first' or 'waiting', ''}`;

/** Removes a ticket, and notifies the owner of the first ticket. ARGV: the ticket. */
export const leaveScript = `
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
local first = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
if first then redis.call('PUBLISH', KEYS[5], first) end`;

/**
 * Removes waiting tickets, and notifies their owners.
 * - ARGV[1]: the label of the removed tickets.
 * - ARGV[2]: another label. The first waiting ticket with this label and all later tickets remain. Empty: no label.
 * - ARGV[3]: the reason.
 */
export const cancelScript = `
for i, ticket in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if i > 1 then
    local label = string.match(ticket, '^[^|]*')
    if label == ARGV[2] then break end
    if label == ARGV[1] then
      redis.call('ZREM', KEYS[1], ticket)
      redis.call('ZREM', KEYS[2], ticket)
      redis.call('HSET', KEYS[3], ticket, ARGV[3])
      redis.call('PEXPIRE', KEYS[3], ${KEEP_MS})
      redis.call('PUBLISH', KEYS[5], ticket)
    end
  end
end`;
