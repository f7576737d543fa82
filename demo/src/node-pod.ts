import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeObject, resource } from '@flotilla/api';
import { ConfigMap, Secret } from '@flotilla/api/core';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';

const Items = z.array(z.object({ key: z.string(), path: z.string() })).optional();
const Volume = z.looseObject({
  name: z.string(),
  configMap: z.looseObject({ name: z.string(), items: Items }).optional(),
  secret: z.looseObject({ secretName: z.string(), items: Items }).optional(),
});
/** A volume as far as it has files of its own. */
export type Volume = z.output<typeof Volume>;

const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  env: z
    .array(
      z.looseObject({
        name: z.string(),
        value: z.string().optional(),
        valueFrom: z.looseObject({ fieldRef: z.looseObject({ fieldPath: z.string() }).optional() }).optional(),
      }),
    )
    .default([]),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
});
/** A container as far as a process can stand for it. */
export type NodeContainer = z.output<typeof Container>;

const Schema = KubeObject.extend({
  spec: z.looseObject({
    serviceAccountName: z.string().default('default'),
    containers: z.array(Container),
    volumes: z.array(Volume).default([]),
  }),
});
/** A pod as the node reads it. */
export type NodePod = z.output<typeof Schema>;
export const NodePod = resource('v1', 'Pod', 'pods', true, Schema);

/** Path → text of a ConfigMap's or Secret's volume; undefined for other volumes. Throws RangeError when the object is missing. */
export async function volumeFiles(client: Client, namespace: string, volume: Volume): Promise<Map<string, string> | undefined> {
  const source = volume.configMap ?? volume.secret;
  if (!source) return undefined;
  const data = volume.configMap
    ? (await client.get(ConfigMap, { namespace, name: volume.configMap.name }))?.data
    : decode((await client.get(Secret, { namespace, name: volume.secret?.secretName ?? '' }))?.data);
  if (!data) throw new RangeError(`volume ${volume.name}: its ConfigMap or Secret is missing in namespace ${namespace}`);
  const items = source.items ?? Object.keys(data).map((key) => ({ key, path: key }));
  return new Map(items.map(({ key, path }) => [path, data[key] ?? '']));
}

const decode = (data: Readonly<Record<string, string>> | null | undefined): Record<string, string> | undefined =>
  data ? Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')])) : undefined;

/** Writes a volume's files, readable by us alone. */
export async function writeFiles(folder: string, files: ReadonlyMap<string, string>, translate: (text: string) => string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [path, text] of files) await writeFile(join(folder, path), translate(text), { mode: 0o600 });
}
