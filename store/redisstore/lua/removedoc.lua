#!lua flags=allow-oom
-- Removes a document if its version is the expected one.
--
-- KEYS: see docs.lua.
-- ARGV: 1 name, 2 expected version.
-- Returns 1, or {'CONFLICT'}.
local v = version(ARGV[1])
if v == '0' or v ~= ARGV[2] then return {'CONFLICT'} end
remove(ARGV[1])
return 1
