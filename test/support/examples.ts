import { readFile } from 'node:fs/promises';
import { FlotillaError } from '@flotilla/api';
import type { Site } from './fleet.ts';

/** Namespace and name of the ClusterGroupUpgrade in `examples/rollout`. */
export const EXAMPLE_UPGRADE = { namespace: 'fleet-upgrades', name: 'rollout' } as const;
/** Files of `examples/rollout` for the hub, in the order a user applies them. */
export const HUB_EXAMPLES = [
  'rollout/namespace',
  'rollout/pre-caching-config',
  'rollout/manifest-work-replica-set',
  'rollout/cluster-group-upgrade',
] as const;
/** Namespace and name of the ClusterGroupUpgrade in `examples/fleet-upgrade`. */
export const FLEET_UPGRADE = { namespace: 'fleet-upgrades', name: 'release' } as const;
/** Files of `examples/fleet-upgrade` that bring the signature, and the name of their ClusterGroupUpgrade. */
const SIGNATURE_EXAMPLES = ['fleet-upgrade/namespace', 'fleet-upgrade/signature'] as const;
const SIGNATURE_UPGRADE = 'release-signature';
/** Files of `examples/fleet-upgrade` for the hub that come when the signature is there, in the order a user applies them. */
const FLEET_UPGRADE_EXAMPLES = [
  'fleet-upgrade/pre-caching-config',
  'fleet-upgrade/manifest-work-replica-set',
  'fleet-upgrade/cluster-group-upgrade',
] as const;
/** What the rollout changes, as it is on a spoke before. */
export const SPOKE_EXAMPLE = 'rollout/spoke/deployments';

/** Placeholder → what stands for it. */
export type ExampleValues = Readonly<Record<string, string>>;

/** Applies files of `examples/` with kubectl, their placeholders filled in, as `envsubst` does; returns kubectl's words. */
export async function applyExamples(site: Site, files: readonly string[], values: ExampleValues): Promise<string> {
  let output = '';
  for (const file of files) output += await site.kubectl(['apply', '-f', '-'], { input: await readExample(file, values) });
  return output.trim();
}

/** Applies `examples/fleet-upgrade` as its README says: the signature, and when it is on all clusters the rest; returns kubectl's words. */
export async function applyFleetUpgrade(site: Site, values: ExampleValues): Promise<string> {
  const ahead = await applyExamples(site, SIGNATURE_EXAMPLES, values);
  const { namespace } = FLEET_UPGRADE;
  const arrived = await site.kubectl(['-n', namespace, 'wait', `cgu/${SIGNATURE_UPGRADE}`, '--for=condition=Succeeded', '--timeout=120s']);
  return [ahead, arrived.trim(), await applyExamples(site, FLEET_UPGRADE_EXAMPLES, values)].join('\n');
}

/** A file of `examples/` with its placeholders filled in. Throws `FLOTILLA_DEMO_EXAMPLE` when one is unknown. */
export async function readExample(file: string, values: ExampleValues): Promise<string> {
  const text = await readFile(new URL(`../../examples/${file}.yaml`, import.meta.url), 'utf8');
  return text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new FlotillaError('FLOTILLA_DEMO_EXAMPLE', `examples/${file}.yaml has an unknown \${${name}}`);
    return value;
  });
}
