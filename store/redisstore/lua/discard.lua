#!lua flags=allow-oom
-- Deletes a quarantined session with all its keys, even if they are unreadable.
--
-- KEYS: 1 meta, 2 quarantine, 3 floor, 4 working, 5 sessions of the partition, then
--   the other lists of sessions in it, then all other keys of the session.
-- ARGV: 1 session, 2 number of the other lists.
-- Returns 1, or {'CONFLICT'} if the session is not quarantined, {'NOTFOUND'},
--   {'INDEX', key}.
--
-- If the epoch is unreadable, the floor becomes at least the current time: epochs are
-- taken from the clock, so the epoch is not above it.
local reason = redis.pcall('HGET', KEYS[2], ARGV[1])
if type(reason) == 'table' then return {'INDEX', KEYS[2]} end
if redis.call('EXISTS', KEYS[1]) == 0 then return {'NOTFOUND'} end
local state = redis.pcall('HGET', KEYS[1], 'state')
state = type(state) == 'string' and state or ''
if not reason and string.sub(state, 1, 1) ~= '!' then return {'CONFLICT'} end
local t = redis.call('TIME')
local epoch = tonumber(string.match(state, '^%S* (%d+) ') or t[1] * 1000 + math.floor(t[2] / 1000))
local floor = redis.pcall('GET', KEYS[3])
floor = math.max(epoch, type(floor) == 'string' and tonumber(floor) or 0)
redis.call('SET', KEYS[3], string.format('%.0f', floor))
redis.call('HDEL', KEYS[2], ARGV[1])
local users = 5 + ARGV[2]
for i = 4, users do redis.pcall('ZREM', KEYS[i], ARGV[1]) end
redis.call('UNLINK', KEYS[1])
for i = users + 1, #KEYS do redis.call('UNLINK', KEYS[i]) end
redis.call('SPUBLISH', KEYS[1], 'x\n')
return 1
