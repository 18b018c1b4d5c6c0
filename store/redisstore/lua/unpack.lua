#!lua
-- Replaces the pack of a session by its content.
--
-- KEYS: 1 meta, 2 pack, 3 log, 4 ids, 5 done, 6 names, 7 inbox, 8... all tables and lists.
-- ARGV: 1 SHA-1 of the pack or reference, 2 session and name of the object that has the pack, or
--   '' for none; then for the log, ids, done and each table and list: its name,
--   the number of its arguments, and its arguments: positions and entries of the log, fields
--   and values of tables, items of lists.
-- Returns 1, or {'CHANGED'} if there is no such pack any more.
--
-- The pack is removed last. If the script failed halfway, the session would still be packed,
-- and the next call starts over.
local pack = redis.call('HEXISTS', KEYS[1], 'packed') == 1 and redis.call('GET', KEYS[2])
if not pack or redis.sha1hex(pack) ~= ARGV[1] then return {'CHANGED'} end
for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end
local a = 3

-- fill calls a command with the arguments of a structure, in parts.
local function fill(command, key)
  local count = tonumber(ARGV[a + 1])
  for i = 1, count, 1000 do
    redis.call(command, key, unpack(ARGV, a + 1 + i, a + 1 + math.min(i + 999, count)))
  end
  a = a + 2 + count
end

local count = tonumber(ARGV[a + 1])
for i = 1, count, 2 do redis.call('XADD', KEYS[3], ARGV[a + 1 + i], 'd', ARGV[a + 2 + i]) end
redis.call('XSETID', KEYS[3], '18446744073709551615-18446744073709551615') -- see log.lua
a = a + 2 + count
fill('HSET', KEYS[4])
fill('RPUSH', KEYS[5])
for i = 8, #KEYS do
  local name = ARGV[a]
  fill(string.sub(name, 1, 1) == 't' and 'HSET' or 'RPUSH', KEYS[i])
  redis.call('SADD', KEYS[6], name)
end
-- The ids of commands continue after the last one: owners compare them.
local sent = redis.call('HGET', KEYS[1], 'sent')
if sent then
  redis.call('XADD', KEYS[7], sent, 'id', '')
  redis.call('XDEL', KEYS[7], sent)
end
redis.call('HINCRBY', KEYS[1], 'names', 1)
redis.call('HDEL', KEYS[1], 'packed')
redis.call('UNLINK', KEYS[2])
if ARGV[2] ~= '' then -- the object is not needed any more
  local t = redis.call('TIME')
  redis.pcall('ZADD', string.match(KEYS[1], '^(.-{p%d+}:)s:') .. 'cold',
    string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)), ARGV[2])
end
return 1
