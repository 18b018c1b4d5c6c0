#!lua flags=no-writes
-- Lists sessions of a partition by last change, the newest first and those of one second by
-- id in descending order.
--
-- KEYS: 1 sessions by last change, 2 the same sessions by id.
-- ARGV: 1 number of sessions, 2 second and 3 id after which the page begins, or '' for the
--   newest.
-- Returns {'OK', sessions by last change, sessions by id, id, second, id, ...}. If the two
--   numbers are different, the first list is incomplete.
-- isBelow compares two ids by their bytes, as Redis orders them. Lua compares strings by the
-- locale of the server.
local function isBelow(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local from = 0
if ARGV[2] ~= '' then
  -- The sessions of the cursor's second are a range of ranks, in which the script bisects:
  -- the cursor's session may have moved.
  from = redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[2], '+inf')
  local to = from + redis.call('ZCOUNT', KEYS[1], ARGV[2], ARGV[2])
  while from < to do
    local middle = math.floor((from + to) / 2)
    if not isBelow(redis.call('ZRANGE', KEYS[1], middle, middle, 'REV')[1], ARGV[3]) then
      from = middle + 1
    else
      to = middle
    end
  end
end
local answer = redis.call('ZRANGE', KEYS[1], from, from + ARGV[1] - 1, 'REV', 'WITHSCORES')
table.insert(answer, 1, tostring(redis.call('ZCARD', KEYS[2])))
table.insert(answer, 1, tostring(redis.call('ZCARD', KEYS[1])))
table.insert(answer, 1, 'OK')
return answer
