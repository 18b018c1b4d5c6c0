#!lua flags=allow-oom
-- Counts one event of a rate limit, unless the limit is reached.
--
-- KEYS: 1 hash: number of a step since 1970 to the number of events in it.
-- ARGV: 1 limit, 2 length of a step in µs, 3 steps per window.
-- Returns 0, or the time to wait in µs.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local step, steps = tonumber(ARGV[2]), tonumber(ARGV[3])
local at = math.floor(now / step)
local total, oldest, gone = 0, at, {}
local counted = redis.call('HGETALL', KEYS[1])
for i = 1, #counted, 2 do
  local when, n = tonumber(counted[i]), tonumber(counted[i + 1])
  -- A step in the future comes from a server whose clock is ahead.
  if when and n and math.abs(at - when) <= steps then
    total = total + n
    oldest = math.min(oldest, when)
  else
    gone[#gone + 1] = counted[i]
  end
end
if total >= tonumber(ARGV[1]) then return (oldest + steps + 1) * step - now end
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
redis.call('HINCRBY', KEYS[1], string.format('%.0f', at), 1)
redis.call('PEXPIRE', KEYS[1], math.ceil((steps + 2) * step / 1000))
return 0
