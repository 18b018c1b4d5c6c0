#!lua flags=no-writes
-- Reads tables and lists of a session as of one position.
--
-- KEYS: 1 meta, 2 pack, 3... the tables and lists.
-- ARGV: 1 version of the names from which the caller computed the keys, 2... 't' or
--   'l' for each key.
-- Returns {'OK', top, contents...}, where the contents of a table are fields and
--   values and those of a list are items; or {'NOTFOUND'}, {'CORRUPT', key}, {'PACKED', top,
--   pack}, or {'CHANGED'} if the names have changed since.
local m = redis.call('HMGET', KEYS[1], 'state', 'names', 'packed')
if not m[1] then
  if redis.call('EXISTS', KEYS[1]) == 1 then return {'CORRUPT', KEYS[1]} end
  return {'NOTFOUND'}
end
local top = string.match(m[1], '%S+$') or ''
if m[3] then
  local pack = redis.call('GET', KEYS[2])
  return pack and {'PACKED', top, pack} or {'CORRUPT', KEYS[2]}
end
if m[2] ~= ARGV[1] then return {'CHANGED'} end
local answer = {'OK', top}
for i = 3, #KEYS do
  local got = ARGV[i - 1] == 't' and redis.pcall('HGETALL', KEYS[i]) or redis.pcall('LRANGE', KEYS[i], 0, -1)
  if got.err then return {'CORRUPT', KEYS[i]} end
  answer[i] = got
end
return answer
