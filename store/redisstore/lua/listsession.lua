#!lua
-- Enters a session that exists where listings look for it.
--
-- KEYS: 1 meta, 2 sessions of the partition, 3 sessions of the user in it,
--   4 working, 5 quarantine.
-- ARGV: 1 session, 2 user, 3 why it is set aside if that is not known any more.
-- Returns 1, or {'INDEX', key}.
local m = redis.pcall('HMGET', KEYS[1], 'state', 'working', 'until', 'user')
local lists = {}
if m.err then -- it is listed, and then found to be broken
  lists = {{'ZADD', KEYS[2], 0, ARGV[1]}}
elseif m[1] and m[4] == ARGV[2] then -- else it is another than the one that was found
  lists = {{'ZADD', KEYS[2], 0, ARGV[1]}, {'ZADD', KEYS[3], 0, ARGV[1]}}
  if string.sub(m[1], 1, 1) == '!' then
    lists[3] = {'HSETNX', KEYS[5], ARGV[1], ARGV[3]}
  elseif m[2] == '1' then
    lists[3] = {'ZADD', KEYS[4], tonumber(m[3]) or 0, ARGV[1]}
  end
end
for _, entry in ipairs(lists) do
  if type(redis.pcall(unpack(entry))) == 'table' then return {'INDEX', entry[2]} end
end
return 1
