#!lua flags=no-writes
-- Counts holders and waiters of a semaphore.
--
-- KEYS: 1 holders by the end of their slots, 2 waiters by when they count as
--   gone.
-- Returns {'OK', held, waiting}.
local t = redis.call('TIME')
local from = '(' .. t[1] .. string.format('%03d', math.floor(t[2] / 1000))
return {'OK', tostring(redis.call('ZCOUNT', KEYS[1], from, '+inf')), tostring(redis.call('ZCOUNT', KEYS[2], from, '+inf'))}
