#!lua flags=allow-oom
-- Extends the lease of an incarnation, or creates it, and reads those of others.
--
-- KEYS: 1 shared leases.
-- ARGV: 1 incarnation, 2 time to live in ms, 3 the time in ms for which expired leases are
--   kept.
-- Returns {'OK', '1' if the lease existed or else '0'}, followed by the number and the
--   remaining ms of every live lease of others.
--
-- Redis executes it also when its memory is full: owners that cannot write should at least
-- keep their sessions. An expired lease is kept for a while, so that its owner can tell that
-- Redis has lost it.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local all, answer = redis.call('HGETALL', KEYS[1]), {'OK', '0'}
for i = 1, #all, 2 do
  local left = (tonumber(all[i + 1]) or 0) - now
  if all[i] == ARGV[1] then
    answer[2] = '1'
  elseif left > 0 then
    answer[#answer + 1], answer[#answer + 2] = all[i], string.format('%.0f', left)
  elseif left < -tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], all[i])
  end
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now + ARGV[2]))
return answer
