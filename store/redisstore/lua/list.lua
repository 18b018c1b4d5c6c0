#!lua flags=no-writes
-- Reads a page of a list.
--
-- KEYS: 1 meta, 2 the list, 3 pack.
-- ARGV: 1 index of the first item, counted from the end if negative, 2 number of items.
-- Returns {'OK', length, items}, or {'NOTFOUND'}, {'CORRUPT', key}, {'PACKED', top, pack}.
local m = redis.call('HMGET', KEYS[1], 'state', 'packed')
if not m[1] then return {'NOTFOUND'} end
if m[2] then
  local pack = redis.call('GET', KEYS[3])
  return pack and {'PACKED', string.match(m[1], '%S+$') or '', pack} or {'CORRUPT', KEYS[3]}
end
local length = redis.call('LLEN', KEYS[2])
local from = tonumber(ARGV[1])
from = from < 0 and math.max(length + from, 0) or math.min(from, length)
return {'OK', string.format('%.0f', length), redis.call('LRANGE', KEYS[2], from, from + ARGV[2] - 1)}
