#!lua
-- Asks for a slot of a semaphore, or asks again.
--
-- KEYS: see slots.lua.
-- ARGV: 1 limit, 2 holder, 3 key, 4 time to live in ms, 5 '1' to wait, 6 for how
--   many ms a waiter counts without asking again, 7 its ticket or '0'.
-- Returns {'OK'}, {'WAIT', ticket}, or {'FULL'}.
--
-- A waiter that was taken for gone keeps its ticket, and so its turn.
local limit, holder, ttl = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[4])
redis.call('HSET', KEYS[4], 'limit', ARGV[1])
expire()
grant()
if redis.call('ZSCORE', KEYS[1], holder) then
  redis.call('ZADD', KEYS[1], now + ttl, holder)
  keep(ttl)
  return {'OK'}
end
if ARGV[5] ~= '1' and (redis.call('ZCARD', KEYS[1]) >= limit or redis.call('ZCARD', KEYS[2]) > 0) then
  keep(0)
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
keep(ttl)
if redis.call('ZSCORE', KEYS[1], holder) then
  redis.call('ZADD', KEYS[1], now + ttl, holder)
  return {'OK'}
end
return {'WAIT', ticket}
