#!lua
-- Adds commands to the inbox of a session, up to the first that is refused. Duplicates are
-- not added again. The owner gets new commands in a message, unless that would be large: the
-- entry id of the command before, in the field sent of meta, and for each command a line with
-- its entry id and the sizes of its id and data, then both. If it continues what the owner
-- has, the owner need not read the inbox.
--
-- KEYS: 1 meta, 2 inbox, also the channel that wakes the owner, 3 ids, 4 quarantine of the partition.
-- ARGV: 1 session, 2 maximum number of commands in the inbox, then for each command its
--   id, a digest of its data and its sealed data.
-- Returns {'OK', d...} with a number for each command: 1 for one that is in the inbox or
--   was consumed recently, 0 for a new one. A refusal ends it: {'CONFLICT', d...} or
--   {'FULL', d...} with the numbers of the commands before. {'QUARANTINED', reason},
--   {'NOTFOUND'}, {'PACKED'} or {'INDEX', key} refuse all.
local reason = redis.pcall('HGET', KEYS[4], ARGV[1])
if type(reason) == 'table' then return {'INDEX', KEYS[4]} end
if reason then return {'QUARANTINED', reason} end
local state, prev, packed = unpack(redis.call('HMGET', KEYS[1], 'state', 'sent', 'packed'))
if not state then return {'NOTFOUND'} end
if string.sub(state, 1, 1) == '!' then return {'QUARANTINED'} end
if packed then return {'PACKED'} end
local ids = {}
for i = 3, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
local known = redis.call('HMGET', KEYS[3], unpack(ids))
local room = tonumber(ARGV[2]) - redis.call('XLEN', KEYS[2])
local answer, new, digests, message, entry = {'OK'}, {}, {}, {}, nil
for n, id in ipairs(ids) do
  local digest = ARGV[3 * n + 1]
  local before = known[n] and (string.match(known[n], ' (%x+)$') or digest) or digests[id]
  if before and before ~= digest then answer[1] = 'CONFLICT' break end
  if not before then
    if room <= 0 then answer[1] = 'FULL' break end
    room = room - 1
    digests[id] = digest
    new[#new + 1] = id
    local data = ARGV[3 * n + 2]
    entry = redis.call('XADD', KEYS[2], '*', 'id', id, 'd', data)
    new[#new + 1] = entry .. ' ' .. digest
    message[#message + 1] = entry .. ' ' .. #id .. ' ' .. #data .. '\n' .. id .. data
  end
  answer[n + 1] = before and 1 or 0
end
if #new > 0 then
  redis.call('HSET', KEYS[3], unpack(new))
  redis.call('HSET', KEYS[1], 'sent', entry)
  local text = (prev or '') .. '\n' .. table.concat(message)
  redis.call('SPUBLISH', KEYS[2], #text <= 65536 and text or '')
end
return answer
