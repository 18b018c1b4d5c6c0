#!lua flags=no-writes
-- Reads a page of a list.
--
-- KEYS: 1 meta, 2 the list.
-- ARGV: 1 index of the first item, counted from the end if negative, 2 number of items.
-- Returns {'OK', length, items}, or {'NOTFOUND'}.
if redis.call('HEXISTS', KEYS[1], 'state') == 0 then return {'NOTFOUND'} end
local length = redis.call('LLEN', KEYS[2])
local from = tonumber(ARGV[1])
from = from < 0 and math.max(length + from, 0) or math.min(from, length)
return {'OK', string.format('%.0f', length), redis.call('LRANGE', KEYS[2], from, from + ARGV[2] - 1)}
