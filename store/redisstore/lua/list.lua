#!lua flags=no-writes
-- Reads a part of a list.
--
-- KEYS: 1 meta, 2 the list.
-- ARGV: 1 index of the first item, 2 how many.
-- Returns {'OK', length, items}, or {'NOTFOUND'}.
if redis.call('HEXISTS', KEYS[1], 'state') == 0 then return {'NOTFOUND'} end
local length = redis.call('LLEN', KEYS[2])
return {'OK', string.format('%.0f', length), redis.call('LRANGE', KEYS[2], ARGV[1], ARGV[1] + ARGV[2] - 1)}
