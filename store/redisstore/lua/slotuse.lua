#!lua flags=no-writes
-- Counts the holders and the waiters of a semaphore.
--
-- KEYS: 1 holders by expiry of their slots, 2 waiters by expiry.
-- Returns {'OK', held, waiting}.
local t = redis.call('TIME')
local from = '(' .. t[1] .. string.format('%03d', math.floor(t[2] / 1000))
return {'OK', tostring(redis.call('ZCOUNT', KEYS[1], from, '+inf')), tostring(redis.call('ZCOUNT', KEYS[2], from, '+inf'))}
