#!lua
-- Acquires a slot of a semaphore for a holder, or queues the holder's request.
--
-- KEYS: see slots.lua.
-- ARGV: 1 limit, 2 holder, 3 key, 4 time to live in ms, 5 '1' to wait, 6 the time in
--   ms after which a waiter that does not call again expires, 7 the waiter's ticket
--   or '0'.
-- Returns {'OK'}, {'WAIT', ticket}, or {'FULL'}.
--
-- A waiter that expired and calls again keeps its ticket and therefore its place.
local limit, holder, ttl = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[4])
redis.call('HSET', KEYS[4], 'limit', ARGV[1])
expire()
grant()
if redis.call('ZSCORE', KEYS[1], holder) then
  redis.call('ZADD', KEYS[1], now + ttl, holder)
  extendKeys(ttl)
  return {'OK'}
end
if ARGV[5] ~= '1' and (redis.call('ZCARD', KEYS[1]) >= limit or redis.call('ZCARD', KEYS[2]) > 0) then
  extendKeys(0)
  return {'FULL'}
end
local ticket = redis.call('ZSCORE', KEYS[2], holder)
if not ticket then
  ticket = ARGV[7]
  if ticket == '0' then ticket = string.format('%.0f', redis.call('HINCRBY', KEYS[4], 'ticket', 1)) end
  redis.call('ZADD', KEYS[2], ticket, holder)
  redis.call('HSET', KEYS[4], 'k:' .. holder, ARGV[3], 't:' .. holder, ARGV[4])
end
redis.call('ZADD', KEYS[3], now + ARGV[6], holder)
grant()
extendKeys(ttl)
if redis.call('ZSCORE', KEYS[1], holder) then
  redis.call('ZADD', KEYS[1], now + ttl, holder)
  return {'OK'}
end
return {'WAIT', ticket}
