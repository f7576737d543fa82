import { errorMessage } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import { OPERATOR_CONFIG_MAP } from '@flotilla/api/managed';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { readOperatorConfig, remarkOn } from './read-config.ts';
import type { OperatorConfig } from './schema.ts';

/** The operator's configuration as of now. */
export interface ConfigNow {
  /** The last one that could be used. */
  readonly config?: OperatorConfig;
  /** Error in the present one; without this and `config`, none was ever read. */
  readonly problem?: string;
  /** Names the parts that count for nothing, though it can be used. */
  readonly remark?: string;
}

/** Watches the ConfigMap in a namespace. A version that cannot be used changes nothing but the problem. */
export function watchOperatorConfig(client: Client, namespace: string, surroundings: WatchSurroundings) {
  const { name, key } = OPERATOR_CONFIG_MAP;
  const cache = new WatchCache(client, ConfigMap, { ...surroundings, namespace, fieldSelector: `metadata.name=${name}` });
  let seen: unknown;
  let now: ConfigNow = {};
  return {
    cache,
    current: (): ConfigNow => {
      if (!cache.hasSynced) return now;
      const map = cache.get({ namespace, name });
      if (map === undefined)
        return {
          ...(now.config && { config: now.config }),
          problem: `config map ${namespace}/${name} is missing: create it with key ${key}`,
        };
      if (map !== seen) {
        seen = map;
        now = nowAfter(now, map.data?.[key]);
        if (now.remark !== undefined) surroundings.logger?.warn({ remark: now.remark }, 'The configuration has keys that are not known');
      }
      return now;
    },
  };
}

/** Configuration after a text has come: an unusable text keeps the last usable one. Pure. */
export function nowAfter({ config }: ConfigNow, text: string | undefined): ConfigNow {
  try {
    const read = readOperatorConfig(text);
    const remark = text === undefined ? undefined : remarkOn(text);
    return { config: read, ...(remark !== undefined && { remark }) };
  } catch (error) {
    return { ...(config && { config }), problem: errorMessage(error) };
  }
}
