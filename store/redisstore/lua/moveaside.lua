#!lua flags=allow-oom
-- Renames keys that belong together if one of them has a wrong type.
--
-- KEYS: n keys, then n new names for them, then optionally the rebuild mark of the
--   partition.
-- ARGV: the Redis type that each of the n keys must have, then '1' to rename them
--   even if all types are right, then the new value of the rebuild mark.
-- Returns the number of renamed keys: 0, or all that exist. If it renamed any, it
--   sets the rebuild mark.
local n = math.floor(#KEYS / 2)
local move = ARGV[n + 1] == '1'
for i = 1, n do
  local is = redis.call('TYPE', KEYS[i]).ok
  if is ~= 'none' and is ~= ARGV[i] then move = true end
end
local moved = 0
for i = 1, n do
  if move and redis.call('EXISTS', KEYS[i]) == 1 then
    redis.call('RENAME', KEYS[i], KEYS[n + i])
    moved = moved + 1
  end
end
if moved > 0 and #KEYS > 2 * n then redis.call('SET', KEYS[#KEYS], ARGV[n + 2]) end
return moved
