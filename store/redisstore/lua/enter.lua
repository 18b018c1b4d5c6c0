#!lua
-- Enters a session that exists where listings look for it.
--
-- KEYS: 1 meta, 2 sessions of the partition, 3 sessions of the user in it,
--   4 working, 5 quarantine.
-- ARGV: 1 session, 2 user, 3 why it is set aside if that is not known any more.
-- Returns 1, or 0 if it is not there, or not that user's.
local m = redis.pcall('HMGET', KEYS[1], 'state', 'working', 'until', 'user')
if m.err then -- it is listed, and then found to be broken
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
  return 1
end
if not m[1] or m[4] ~= ARGV[2] then return 0 end
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('ZADD', KEYS[3], 0, ARGV[1])
if string.sub(m[1], 1, 1) == '!' then
  redis.call('HSETNX', KEYS[5], ARGV[1], ARGV[3])
elseif m[2] == '1' then
  redis.call('ZADD', KEYS[4], tonumber(m[3]) or 0, ARGV[1])
end
return 1
