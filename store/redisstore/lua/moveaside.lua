#!lua flags=allow-oom
-- Moves keys away that cannot be used.
--
-- KEYS: the keys, then as many to move them to; and behind them, if something is
--   to be made of others again, the key that says so.
-- ARGV: the type that each is to have; and behind them '1' to move them though
--   their types are right, and what the last key is to say.
-- Returns how many were moved: none or, since they belong together, all.
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
