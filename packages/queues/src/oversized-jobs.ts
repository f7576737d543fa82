import type { Redis } from 'ioredis';

/** Largest job that stays, in bytes: ours have a few hundred. */
const MAX_JOB_BYTES = 16 * 1024;
const MAX_FIELDS = 64;
const MAX_ID_BYTES = 256;

/**
 * Script that removes unreadable jobs from a queue on the server and returns their number. It removes a job's lock and deduplication key too, so that
 * its key can be added again.
 */
const SWEEP = `
local prefix, maxBytes, maxFields, maxId = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local function tooLarge(id)
  if #id > maxId then return true end
  local job = prefix .. id
  local kind = redis.call('TYPE', job).ok
  if kind == 'none' then return false end
  if kind ~= 'hash' or redis.call('HLEN', job) > maxFields then return true end
  local bytes = 0
  for _, field in ipairs(redis.call('HKEYS', job)) do bytes = bytes + #field + redis.call('HSTRLEN', job, field) end
  return bytes > maxBytes
end
local function forget(id)
  local job = prefix .. id
  if redis.call('TYPE', job).ok == 'hash' and redis.call('HSTRLEN', job, 'deid') <= maxBytes then
    local de = redis.call('HGET', job, 'deid')
    if de and redis.call('GET', prefix .. 'de:' .. de) == id then redis.call('DEL', prefix .. 'de:' .. de) end
  end
  redis.call('DEL', job, job .. ':lock')
end
local removed = 0
for _, name in ipairs({'wait', 'active', 'paused', 'prioritized', 'delayed', 'marker', 'stalled'}) do
  local key = prefix .. name
  local kind = redis.call('TYPE', key).ok
  local ids = {}
  if kind == 'list' then ids = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'zset' then ids = redis.call('ZRANGE', key, 0, -1)
  elseif kind == 'set' then ids = redis.call('SMEMBERS', key) end
  for _, id in ipairs(ids) do
    if tooLarge(id) then
      if kind == 'list' then redis.call('LREM', key, 0, id)
      elseif kind == 'zset' then redis.call('ZREM', key, id)
      else redis.call('SREM', key, id) end
      forget(id)
      removed = removed + 1
    end
  end
end
return removed
`;

/** Removes jobs that are larger than any of ours from a queue; resolves to their number. */
export async function removeOversizedJobs(redis: Redis, prefix: string, queue: string): Promise<number> {
  const removed = await redis.eval(SWEEP, 1, `${prefix}:${queue}:`, MAX_JOB_BYTES, MAX_FIELDS, MAX_ID_BYTES);
  return Number(removed);
}
