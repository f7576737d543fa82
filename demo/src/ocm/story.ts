import { FlotillaError } from '@flotilla/api';
import { hearClaims } from '../../../test/support/ocm/claims.ts';
import { allOf, gatewayPolicy, gatewayWork, runningVersions, UPGRADES, upgradeOf } from '../../../test/support/ocm/gateway.ts';
import { type OcmWorld, startOcmWorld } from '../../../test/support/ocm/ocm-world.ts';
import { followRollout } from '../../../test/support/rollout-progress.ts';

/** Options of the story. */
interface OcmStoryOptions {
  readonly spokes: number;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Most an upgrade may take, in milliseconds. */
const WITHIN_MS = 180_000;

/**
 * Two rollouts beside real components of Open Cluster Management: version 2 by ManifestWorks, version 3 by a policy, the canary first.
 * Throws `FLOTILLA_DEMO_ROLLOUT` with the reason when one does not end well, or when a cluster is called done that is not.
 * The world stays the caller's to end.
 */
export async function tellOcmStory({ spokes, say, signal }: OcmStoryOptions): Promise<OcmWorld> {
  const tell = (line: string) => say(`  ${line}`);
  say('\nA hub with the work agent, the placement controller, the policy propagator and the configuration policy controller');
  const world = await startOcmWorld({ spokes, say: tell, signal });
  try {
    const clusters = world.spokes.map(({ name }) => name);
    tell('each spoke is a whole cluster and runs version 1 of a Deployment');

    say('\nVersion 2 by ManifestWorks, which the work agents apply');
    await apply(world, [gatewayWork('gateway-2', '2')]);
    await rollOut(world, { name: 'by-works', version: '2', what: { manifestWorkTemplates: ['gateway-2'] } }, { say: tell, signal });

    say('\nVersion 3 by a policy: placed, enforced and reported by the policy framework');
    await apply(world, gatewayPolicy('gateway-3', '3', { replaces: '2', clusters }));
    await rollOut(world, { name: 'by-policy', version: '3', what: { managedPolicies: ['gateway-3'] } }, { say: tell, signal });

    say(`\n$ kubectl -n ${UPGRADES} get cgu`);
    say((await world.hub.kubectl(['-n', UPGRADES, 'get', 'cgu'])).trimEnd());
    return world;
  } catch (error) {
    await world[Symbol.asyncDispose]();
    throw error;
  }
}

/** As a user would. */
async function apply({ hub }: OcmWorld, objects: readonly unknown[]): Promise<void> {
  for (const object of objects) await hub.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(object) });
}

interface Rollout {
  readonly name: string;
  readonly version: string;
  readonly what: Readonly<Record<string, unknown>>;
}

/** One upgrade to its end, and what the spokes themselves say of it. */
async function rollOut(
  world: OcmWorld,
  { name, version, what }: Rollout,
  { say, signal }: Pick<OcmStoryOptions, 'say' | 'signal'>,
): Promise<void> {
  const { hub, spokes } = world;
  await using claims = hearClaims(world, name);
  const clusters = spokes.map((spoke) => spoke.name);
  await apply(world, [upgradeOf(name, clusters, what)]);
  const start = performance.now();
  const onNews = (news: string) => say(`${((performance.now() - start) / 1000).toFixed(1).padStart(5)} s  ${news}`);
  const end = await followRollout(hub.client, { namespace: UPGRADES, name }, { onNews, withinMs: WITHIN_MS, signal });
  if (!end.succeeded) throw new FlotillaError('FLOTILLA_DEMO_ROLLOUT', `${name} ended with: ${end.message}`);
  for (const { cluster, versions } of await claims.all()) {
    if (versions.join() === allOf(version).join()) continue;
    throw new FlotillaError('FLOTILLA_DEMO_ROLLOUT', `${name} called ${cluster} done when its pods were of version ${versions.join(', ')}`);
  }
  for (const spoke of spokes) say(`       pods of ${spoke.name}: version ${(await runningVersions(spoke.client)).join(', ')}`);
}
