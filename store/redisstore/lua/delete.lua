#!lua flags=allow-oom
-- Deletes a session with all its keys.
--
-- KEYS: 1 meta, 2 quarantine, 3 floor, 4 working, 5 sessions of the partition,
--   6 sessions of the user in it, 7... all other keys of the session.
-- ARGV: 1 session, 2 replica, 3 epoch, 4 version of the names from which the caller
--   computed the keys.
-- Returns 1, or {'QUARANTINED', reason}, {'FENCED'}, {'INDEX', key}, or {'CHANGED'} if
--   the names have changed since.
local reason = redis.pcall('HGET', KEYS[2], ARGV[1])
if type(reason) == 'table' then return {'INDEX', KEYS[2]} end
if reason then return {'QUARANTINED', reason} end
local m = redis.call('HMGET', KEYS[1], 'state', 'names', 'user')
if string.sub(m[1] or '', 1, 1) == '!' then return {'QUARANTINED'} end
local owner, epoch = string.match(m[1] or '', '^(%S*) (%d+) ')
if owner ~= ARGV[2] or epoch ~= ARGV[3] then return {'FENCED'} end
if m[2] ~= ARGV[4] then return {'CHANGED'} end
local floor = redis.pcall('GET', KEYS[3])
floor = math.max(tonumber(ARGV[3]), type(floor) == 'string' and tonumber(floor) or 0)
redis.call('SET', KEYS[3], string.format('%.0f', floor))
for i = 4, 6 do redis.pcall('ZREM', KEYS[i], ARGV[1]) end
unlistRecent(KEYS[1], m[3] or '')
redis.call('UNLINK', KEYS[1])
for i = 7, #KEYS do redis.call('UNLINK', KEYS[i]) end
redis.call('SPUBLISH', KEYS[1], 'x\n')
return 1
