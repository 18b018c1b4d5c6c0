#!lua
-- Makes a replica the owner of a session under a new epoch and appends the event of
-- the claim to the log.
--
-- KEYS: 1 meta, 2 log, 3 quarantine, 4 floor, 5 working of the partition,
--   6 inbox, 7 shared leases.
-- ARGV: 1 session, 2 replica, 3 time to live in ms, 4 size of the claim's event with
--   an epoch of one digit and the zero position as prev, 5 and 6 bounds of the log
--   in events and bytes, 7 incarnation whose lease is to keep the session, or '' for a
--   lease of its own, 8 the time in ms for which hubs that do not know shared leases leave
--   the session to that incarnation.
-- Returns {'OK', epoch, prev}, or a refusal: {'QUARANTINED', reason},
--   {'NOTFOUND'}, {'OWNED', by, ms, incarnation or '0'}, {'PACKED'}, {'CORRUPT', key},
--   {'INDEX', key}.
--
-- The floor is the highest epoch of the deleted sessions of the partition. The new
-- epoch is above it, so that a session that is created again with the same id never
-- reuses an epoch, even if the clock was set back. The entry in the log holds the
-- fields of the event instead of the event, because only this script knows the epoch.
local reason = redis.pcall('HGET', KEYS[3], ARGV[1])
if type(reason) == 'table' then return {'INDEX', KEYS[3]} end
if reason then return {'QUARANTINED', reason} end
local m = redis.call('HMGET', KEYS[1], 'state', 'until', 'working', 'shared', 'user', 'packed')
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
local kind = redis.call('TYPE', KEYS[7]).ok
if kind ~= 'hash' and kind ~= 'none' then return {'INDEX', KEYS[7]} end
local incarnation = incarnationOf(m[4], epoch)
if incarnation then till = tonumber(redis.call('HGET', KEYS[7], incarnation)) or 0 end
if owner ~= '' and owner ~= ARGV[2] and till > now then
  return {'OWNED', owner, string.format('%.0f', till - now), incarnation or '0'}
end
if m[6] then return {'PACKED'} end
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
local score, shared = till, ''
if ARGV[7] ~= '' then
  if now + ARGV[3] > (tonumber(redis.call('HGET', KEYS[7], ARGV[7])) or 0) then redis.call('HSET', KEYS[7], ARGV[7], till) end
  score, shared, till = ARGV[7], e .. ' ' .. ARGV[7], string.format('%.0f', now + ARGV[8])
end
if new then redis.call('HSET', KEYS[1], 'oldest', top) end
redis.call('HSET', KEYS[1], unpack(set))
redis.call('HSET', KEYS[1], 'state', table.concat({ARGV[2], e, '0', top}, ' '), 'until', till,
  'shared', shared, 'updated', ms)
if m[3] == '1' then redis.pcall('ZADD', KEYS[5], score, ARGV[1]) end
listRecent(KEYS[1], m[5], now)
redis.call('SPUBLISH', KEYS[1], entry)
redis.call('SPUBLISH', KEYS[6], '') -- a former owner learns that it is fenced
return {'OK', e, prev}
