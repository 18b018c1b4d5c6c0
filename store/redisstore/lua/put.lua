#!lua
-- Writes a document if its version is the expected one.
--
-- KEYS: see docs.lua.
-- ARGV: 1 name, 2 expected version, '0' for none, 3 sealed data, 4 time to live in ms
--   or '0'.
-- Returns {'OK', version}, or {'CONFLICT'}.
--
-- Every call also removes up to 16 expired documents.
for _, name in ipairs(redis.call('ZRANGE', KEYS[4], '-inf', now, 'BYSCORE', 'LIMIT', 0, 16)) do remove(name) end
local v = version(ARGV[1])
if v ~= ARGV[2] then return {'CONFLICT'} end
v = string.format('%.0f', v + 1)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('HSET', KEYS[2], ARGV[1], v)
redis.call('ZADD', KEYS[3], 0, ARGV[1])
if ARGV[4] ~= '0' then
  redis.call('ZADD', KEYS[4], now + ARGV[4], ARGV[1])
else
  redis.call('ZREM', KEYS[4], ARGV[1])
end
return {'OK', v}
