#!lua
-- Creates a session and lists it.
--
-- KEYS: 1 meta, 2 sessions of the partition, 3 sessions of the user in it, 4 floor.
-- ARGV: 1 session, 2 user, 3 card; to recreate a lost session also its lease:
--   4 replica, 5 epoch, 6 time to live in ms.
-- Returns 1, or {'EXISTS'}, {'INDEX', key, user}, or {'NOTFOUND'} if the session of
--   the lease was deleted.
--
-- The lease of a recreated session is valid again: no other replica can claim the
-- session before its owner has claimed it and written its state, and the next epoch
-- is above that of the lease.
--
-- The fields that every commit reads come first, because Redis finds these sooner.
if redis.call('EXISTS', KEYS[1]) == 1 then return {'EXISTS'} end
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
local state, till = ' 0 0 0-0', '0'
if ARGV[4] then
  local floor = redis.pcall('GET', KEYS[4])
  floor = type(floor) == 'string' and tonumber(floor) or 0
  if floor >= tonumber(ARGV[5]) then return {'NOTFOUND'} end
  state = ARGV[4] .. ' ' .. ARGV[5] .. ' 0 0-0'
  till = string.format('%.0f', now + ARGV[6])
end
for i = 2, 3 do
  if type(redis.pcall('ZADD', KEYS[i], 0, ARGV[1])) == 'table' then return {'INDEX', KEYS[i], ARGV[2]} end
end
listRecent(KEYS[1], ARGV[2], tonumber(now))
redis.call('HSET', KEYS[1], 'state', state, 'count', '0', 'stop', '0', 'updated', now,
  'until', till, 'working', '0', 'names', '0', 'chunk', '0-0 0 0', 'marks', '', 'dropped', '0 0',
  'oldest', '0-0', 'trimmed', '0', 'created', now, 'user', ARGV[2], 'card', ARGV[3])
return 1
