#!lua flags=allow-oom
-- Marks objects that are not referenced, so that they never will be, and lists them.
--
-- KEYS: 1 objects of the partition.
-- ARGV: 1 the least time in ms since they were noted, 2 number of objects, 3... session and name
--   of each object, or nothing for the oldest ones.
-- Returns {'OK', object...}.
--
-- The mark is the time 0: cool.lua refuses such an object. One that is referenced in spite of
-- being noted (Discard notes objects first) is not listed.
local tag = string.match(KEYS[1], '^(.-{p%d+}:)cold$')
local objects = {unpack(ARGV, 3)}
if #objects == 0 then
  local t = redis.call('TIME')
  local last = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[1])
  objects = redis.call('ZRANGE', KEYS[1], '-inf', last, 'BYSCORE', 'LIMIT', 0, ARGV[2])
end
local answer = {'OK'}
for _, object in ipairs(objects) do
  local session, name = string.match(object, '^(%S+) (%S+)$')
  local pack = session and redis.pcall('GET', tag .. 's:' .. session .. ':pack')
  -- A reference is short; a pack that holds the name is none.
  if type(pack) == 'string' and #pack < 512 and string.find(pack, name, 1, true) then
    redis.call('ZREM', KEYS[1], object)
  else
    redis.call('ZADD', KEYS[1], 0, object)
    answer[#answer + 1] = object
  end
end
return answer
