#!lua flags=no-writes
-- Reads commands from the inbox for the owner of a session.
--
-- KEYS: 1 meta, 2 inbox, 3 quarantine of the partition.
-- ARGV: 1 session, 2 replica, 3 epoch, 4 lower bound of the entry ids, 5 size in bytes
--   after which the result ends.
-- Returns {'OK', entry...} where an entry is {entry id, {'id', id, 'd', data}}, or
--   {'FENCED'}, {'QUARANTINED', reason}.
local state = redis.call('HGET', KEYS[1], 'state')
local mark, owner, epoch = string.match(state or '', '^(!?)(%S*) (%d+) ')
if owner ~= ARGV[2] or epoch ~= ARGV[3] then return {'FENCED'} end
if mark == '!' then
  local reason = redis.pcall('HGET', KEYS[3], ARGV[1])
  return {'QUARANTINED', type(reason) == 'string' and reason or nil}
end
local answer, from, bytes = {'OK'}, ARGV[4], 0
repeat
  local page = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', 8)
  for _, entry in ipairs(page) do
    answer[#answer + 1] = entry
    from, bytes = '(' .. entry[1], bytes + #(entry[2][4] or '')
  end
until #page < 8 or bytes >= tonumber(ARGV[5])
return answer
