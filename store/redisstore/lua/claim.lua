#!lua
-- Makes a replica the owner of a session under a new epoch and appends the event of
-- the claim to the log.
--
-- KEYS: 1 meta, 2 log, 3 quarantine, 4 floor, 5 working of the partition,
--   6 inbox.
-- ARGV: 1 session, 2 replica, 3 time to live in ms, 4 size of the claim's event with
--   an epoch of one digit and the zero position as prev, 5 and 6 bounds of the log
--   in events and bytes.
-- Returns {'OK', epoch, prev}, or a refusal: {'QUARANTINED', reason},
--   {'NOTFOUND'}, {'OWNED', by, ms}, {'CORRUPT', key}, {'INDEX', key}.
--
-- The floor is the highest epoch of the deleted sessions of the partition. The new
-- epoch is above it, so that a session that is created again with the same id never
-- reuses an epoch, even if the clock was set back. The entry in the log holds the
-- fields of the event instead of the event, because only this script knows the epoch.
local reason = redis.pcall('HGET', KEYS[3], ARGV[1])
if type(reason) == 'table' then return {'INDEX', KEYS[3]} end
if reason then return {'QUARANTINED', reason} end
local m = redis.call('HMGET', KEYS[1], 'state', 'until', 'working', 'user')
if not m[1] then
  if redis.call('EXISTS', KEYS[1]) == 1 then return {'CORRUPT', KEYS[1]} end
  return {'NOTFOUND'}
end
if string.sub(m[1], 1, 1) == '!' then return {'QUARANTINED'} end
local owner, epoch, prev = string.match(m[1], '^(%S*) (%d+) %d+ (%S+)$')
local till = tonumber(m[2])
if not (prev and till) then return {'CORRUPT', KEYS[1]} end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if owner ~= '' and owner ~= ARGV[2] and till > now then
  return {'OWNED', owner, string.format('%.0f', till - now)}
end
local new = prev == '0-0'
if redis.call('TYPE', KEYS[2]).ok ~= (new and 'none' or 'stream') then return {'CORRUPT', KEYS[2]} end

local floor = redis.pcall('GET', KEYS[4])
floor = type(floor) == 'string' and tonumber(floor) or 0
epoch = math.max(epoch + 1, now, floor + 1)
local e, ms = string.format('%.0f', epoch), string.format('%.0f', now)
local top = e .. '-0'
local y = ARGV[4] + 2 * (#e - 1) + #prev - 3
local facts = table.concat({ARGV[2], prev, ms, e}, ' ')
local entry = table.concat({'o ', prev, ' 1 ', string.format('%.0f', y), '\n', redis.sha1hex(facts), ' ', facts})
local set, from = plan(KEYS[1], 1, y, prev, top, tonumber(ARGV[5]), tonumber(ARGV[6]))
if not set then return {'CORRUPT', KEYS[1]} end

if not new and redis.pcall('XSETID', KEYS[2], prev).err then return {'CORRUPT', KEYS[2]} end
redis.call('XADD', KEYS[2], top, 'd', entry)
if from then redis.call('XTRIM', KEYS[2], 'MINID', from) end
redis.call('XSETID', KEYS[2], locked)
till = string.format('%.0f', now + ARGV[3])
if new then redis.call('HSET', KEYS[1], 'oldest', top) end
redis.call('HSET', KEYS[1], unpack(set))
redis.call('HSET', KEYS[1], 'state', table.concat({ARGV[2], e, '0', top}, ' '), 'until', till, 'updated', ms)
if m[3] == '1' then redis.pcall('ZADD', KEYS[5], till, ARGV[1]) end
listRecent(KEYS[1], m[4], now)
redis.call('SPUBLISH', KEYS[1], entry)
redis.call('SPUBLISH', KEYS[6], '') -- a former owner learns that it is fenced
return {'OK', e, prev}
