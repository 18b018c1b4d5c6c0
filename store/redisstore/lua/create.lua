#!lua
-- Creates a session and enters it in the directory.
--
-- KEYS: 1 meta, 2 sessions of the partition, 3 sessions of the user in it.
-- ARGV: 1 session, 2 user, 3 card.
-- Returns 1, or {'EXISTS'}.
--
-- The fields that every commit needs come first, where Redis finds them sooner.
if redis.call('EXISTS', KEYS[1]) == 1 then return {'EXISTS'} end
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('ZADD', KEYS[3], 0, ARGV[1])
redis.call('HSET', KEYS[1], 'state', ' 0 0 0-0', 'count', '0', 'stop', '0', 'updated', now,
  'until', '0', 'working', '0', 'names', '0', 'chunk', '0-0 0 0', 'marks', '', 'dropped', '0 0',
  'oldest', '0-0', 'trimmed', '0', 'created', now, 'user', ARGV[2], 'card', ARGV[3])
return 1
