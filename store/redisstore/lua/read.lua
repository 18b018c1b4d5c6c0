#!lua flags=no-writes
-- Reads the events of a log after a cursor, in one round trip.
--
-- KEYS: 1 meta, 2 log, 3 pack.
-- ARGV: 1 epoch and 2 seq of the cursor, 3 number of events.
-- Returns {'OK', top, owner, entry...} where an entry is {id, {'d', bytes}} and the
--   first one may begin before the cursor; or {'NOTFOUND'}, {'TRIMMED'}, {'AHEAD'},
--   {'UNKNOWN'}, {'CORRUPT', key}, {'PACKED', top, pack}.
--
-- The id of an entry is the position of its last event, and its first line holds the
-- number of its events. The script estimates the number of entries to fetch from the
-- average, so that a page of small batches needs few calls of XRANGE and a page of
-- large ones does not fetch much more than it returns.
local m = redis.call('HMGET', KEYS[1], 'state', 'oldest', 'trimmed', 'chunk', 'count', 'dropped', 'packed')
if not m[1] then
  if redis.call('EXISTS', KEYS[1]) == 1 then return {'CORRUPT', KEYS[1]} end
  return {'NOTFOUND'}
end
local function split(p)
  local a, b = string.match(p or '', '^(%d+)-(%d+)$')
  return tonumber(a), tonumber(b)
end
local epoch, seq, want = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local owner, top = string.match(m[1], '^!?(%S*) %d+ %d+ (%S+)$')
local te, ts = split(top)
local oe, os = split(m[2])
local before, newest = string.match(m[4] or '', ' (%d+) '), tonumber(m[5]) -- see log.lua
local dropped = string.match(m[6] or '', '^%d+')
if not (te and oe and before and newest and dropped) then return {'CORRUPT', KEYS[1]} end
local events = before + math.floor(newest / 4294967296) - dropped
local answer = {'OK', top, owner}
local packed = m[7] and redis.call('GET', KEYS[3])
if m[7] and not packed then return {'CORRUPT', KEYS[3]} end
local from = '-'
if epoch == 0 and seq == 0 then
  if m[3] == '1' then return {'TRIMMED'} end
  if events == 0 then return answer end
  if packed then return {'PACKED', top, packed} end
else
  if epoch > te or (epoch == te and seq > ts) then return {'AHEAD'} end
  if epoch < oe or (epoch == oe and seq < os) then return {'TRIMMED'} end
  if epoch == te and seq == ts then return answer end
  if packed then return {'PACKED', top, packed} end
  local first = redis.call('XRANGE', KEYS[2], ARGV[1] .. '-' .. ARGV[2], '+', 'COUNT', 1)[1]
  if not first then return {'CORRUPT', KEYS[2]} end
  local fe, fs = split(first[1])
  local n = tonumber(string.match(first[2][2] or '', '^%l [%d-]+ (%d+) %d+\n'))
  if not n then return {'CORRUPT', KEYS[2]} end
  if fe ~= epoch or seq < fs - n + 1 then return {'UNKNOWN'} end
  from = '(' .. first[1]
  if fs > seq then answer[4], want = first, want - (fs - seq) end
end
local entries = redis.call('XLEN', KEYS[2])
if entries == 0 then return {'CORRUPT', KEYS[2]} end
local average = math.max(events / entries, 1)
while want > 0 do
  local count = math.ceil(want / average) + 1
  local page = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', count)
  for _, entry in ipairs(page) do
    local n = tonumber(string.match(entry[2][2] or '', '^%l [%d-]+ (%d+) %d+\n'))
    if not n then return {'CORRUPT', KEYS[2]} end
    answer[#answer + 1] = entry
    want, from = want - n, '(' .. entry[1]
    if want <= 0 then break end
  end
  if #page < count then break end
end
return answer
