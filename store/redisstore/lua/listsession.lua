#!lua
-- Adds an existing session to the lists of its partition, and removes a deleted one from
-- those by last change.
--
-- KEYS: 1 meta, 2 sessions of the partition, 3 sessions of the user in it,
--   4 working, 5 quarantine.
-- ARGV: 1 session, 2 user, 3 reason to store for a quarantined session whose own
--   reason was lost.
-- Returns 1, or {'INDEX', key}.
local m = redis.pcall('HMGET', KEYS[1], 'state', 'working', 'until', 'user', 'updated', 'shared')
local lists = {}
if m.err then -- unreadable: listed, so that a read quarantines it
  lists = {{'ZADD', KEYS[2], 0, ARGV[1]}}
elseif m[1] and m[4] == ARGV[2] then -- otherwise it was deleted, or created again for another user
  lists = {{'ZADD', KEYS[2], 0, ARGV[1]}, {'ZADD', KEYS[3], 0, ARGV[1]}}
  if string.sub(m[1], 1, 1) == '!' then
    lists[3] = {'HSETNX', KEYS[5], ARGV[1], ARGV[3]}
  elseif m[2] == '1' then
    lists[3] = {'ZADD', KEYS[4], workingScore(m[1], m[3], m[6]), ARGV[1]}
  end
end
if m.err then
  redis.pcall('ZADD', (recentSets(KEYS[1], '')), 'NX', 0, ARGV[1])
elseif m[4] then
  listRecent(KEYS[1], m[4], tonumber(m[5]) or 0)
elseif not m[1] then
  unlistRecent(KEYS[1], ARGV[2])
end
for _, entry in ipairs(lists) do
  if type(redis.pcall(unpack(entry))) == 'table' then return {'INDEX', entry[2]} end
end
return 1
