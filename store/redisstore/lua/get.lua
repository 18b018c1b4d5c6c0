#!lua flags=no-writes
-- Reads a document.
--
-- KEYS: see docs.lua.
-- ARGV: 1 name.
-- Returns {'OK', version, remaining ms or '0', sealed data}, or {'NOTFOUND'}.
local v, left = version(ARGV[1])
if v == '0' then return {'NOTFOUND'} end
return {'OK', v, string.format('%.0f', left), redis.call('HGET', KEYS[1], ARGV[1]) or ''}
