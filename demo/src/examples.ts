import { readFile } from 'node:fs/promises';
import { FlotillaError } from '@flotilla/api';
import type { Site } from './fleet.ts';

/** The files a user applies for pre-caching, in order. */
const FILES = ['namespace', 'pre-caching-config', 'cluster-group-upgrade'] as const;

/** Namespace and name of the ClusterGroupUpgrade in `examples/precaching`. */
export const EXAMPLE_UPGRADE = { namespace: 'fleet-upgrades', name: 'release' } as const;

/** What stands for the placeholders of the examples. */
export interface ExampleImages {
  readonly RELEASE_IMAGE: string;
  readonly ADDITIONAL_IMAGE: string;
}

/** Applies `examples/precaching` with kubectl, its placeholders filled in, as `envsubst` does; returns kubectl's words. */
export async function applyExamples(hub: Site, images: ExampleImages): Promise<string> {
  const values: Readonly<Record<string, string>> = { ...images };
  let output = '';
  for (const file of FILES) {
    const text = await readFile(new URL(`../../examples/precaching/${file}.yaml`, import.meta.url), 'utf8');
    const input = text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
      const value = values[name];
      if (value === undefined)
        throw new FlotillaError('FLOTILLA_DEMO_EXAMPLE', `examples/precaching/${file}.yaml has an unknown \${${name}}`);
      return value;
    });
    output += await hub.kubectl(['apply', '-f', '-'], { input });
  }
  return output.trim();
}
