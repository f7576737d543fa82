/** All objects of a cluster, to compare what is there before and after. */
import { type Client, isNotFound } from '@flotilla/runtime';
import { z } from 'zod';

const Groups = z.looseObject({ groups: z.array(z.looseObject({ versions: z.array(z.looseObject({ groupVersion: z.string() })) })) });
const Kinds = z.looseObject({ resources: z.array(z.looseObject({ name: z.string(), verbs: z.array(z.string()) })) });
const Listed = z.looseObject({
  items: z
    .array(
      z.looseObject({
        metadata: z.looseObject({ name: z.string(), namespace: z.string().optional(), finalizers: z.array(z.string()).optional() }),
      }),
    )
    .nullable(),
});

/** Kinds that come and go by themselves: events expire, and statuses of the server's own parts are made for each answer. */
const PASSING = new Set(['events', 'componentstatuses']);

/** An answer; undefined where a CRD has gone since discovery named it. */
async function answerOf(client: Client, path: string): Promise<unknown> {
  try {
    return await client.request('GET', path);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Lists every object of every kind that the server serves, as `kind.group namespace/name`, with the finalizers it has. */
export async function allObjects(client: Client): Promise<Map<string, readonly string[]>> {
  const { groups } = Groups.parse(await client.request('GET', '/apis'));
  const paths = ['/api/v1', ...groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`))];
  const found = new Map<string, readonly string[]>();
  for (const path of paths) {
    const { resources } = Kinds.parse((await answerOf(client, path)) ?? { resources: [] });
    const group = path.split('/').slice(2, -1).join('') || 'core';
    for (const { name } of resources.filter((each) => each.verbs.includes('list') && !PASSING.has(each.name))) {
      const { items } = Listed.parse((await answerOf(client, `${path}/${name}`)) ?? { items: [] });
      for (const { metadata } of items ?? [])
        found.set(`${name}.${group} ${metadata.namespace ?? ''}/${metadata.name}`, metadata.finalizers ?? []);
    }
  }
  return found;
}
