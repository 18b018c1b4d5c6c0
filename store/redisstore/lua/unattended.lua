#!lua flags=no-writes
-- Lists sessions that have unfinished work and no live lease.
--
-- KEYS: 1 shared leases, then for each partition working and rebuild mark.
-- ARGV: 1 number of sessions per partition.
-- Returns nothing if no partition has any such key. Otherwise for each partition: '1' if a
--   rebuild is pending, so that sessions may be missing, else '0', followed by the sessions;
--   or an error if working has a wrong type.
--
-- The score of a session is the end of its own lease or, above all times, the number of
-- the incarnation whose lease keeps it: see lease.lua.
if redis.call('EXISTS', unpack(KEYS, 2)) == 0 then return {} end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local live, all = {}, redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if (tonumber(all[i + 1]) or 0) > now then live[#live + 1] = tonumber(all[i]) end
end
table.sort(live)

-- list returns the reply for a partition, or an error.
local function list(working, mark)
  if redis.call('EXISTS', working, mark) == 0 then return {'0'} end
  local found = redis.pcall('ZRANGE', working, '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, ARGV[1])
  if found.err then return found end
  local from = '4503599627370496'
  for i = 1, #live + 1 do
    local to = live[i] and string.format('(%.0f', live[i]) or '+inf'
    for _, id in ipairs(redis.call('ZRANGE', working, from, to, 'BYSCORE', 'LIMIT', 0, ARGV[1])) do found[#found + 1] = id end
    from = to
  end
  table.insert(found, 1, tostring(redis.call('EXISTS', mark)))
  return found
end

local answer = {}
for i = 2, #KEYS, 2 do answer[#answer + 1] = list(KEYS[i], KEYS[i + 1]) end
return answer
