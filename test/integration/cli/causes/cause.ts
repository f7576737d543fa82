/** One injected cause: how it comes about, what `why` has to say of it, and what it says releases it. */
import type { WaitCause } from '@flotilla/api/answers';
import { ManagedCluster } from '@flotilla/api/ocm';
import type { RolloutWorld } from '../../rollout/world.ts';

/** Names that a case has for itself. */
interface Names {
  /** Of its upgrade, its policy and its template. */
  readonly name: string;
  readonly spokes: readonly [string, string];
}

/** The world of a case. */
export interface Scene extends Names {
  readonly world: RolloutWorld;
}

/** A row of the table. */
export interface Cause {
  readonly name: string;
  /** Two at once: the first of them is to be named. */
  readonly doubled?: true;
  readonly inject: (scene: Scene) => Promise<unknown>;
  /** Who is asked about; default the first spoke. */
  readonly about?: 'upgrade' | 'second';
  readonly want: {
    readonly cause: WaitCause;
    /** Some link of the chain says this. */
    readonly says: RegExp;
    /** Default true. */
    readonly certain?: boolean;
  };
  readonly release: {
    /** As the answer names it. */
    readonly says: RegExp;
    /** Does what it says; absent where it ends by itself. */
    readonly apply?: (scene: Scene) => unknown;
  };
  /** What comes of it; default: the upgrade completes. */
  readonly after?: 'another cause' | 'cached' | ((scene: Scene) => Promise<unknown>);
}

/** Creates a policy of the case on its spokes, and the upgrade that enforces it on one after the other. */
export async function byPolicy(
  { world, name, spokes }: Scene,
  spec: Record<string, unknown> = {},
  annotations: Readonly<Record<string, string>> = {},
): Promise<void> {
  await world.policies(spokes, { [name]: {} });
  await world.upgrade(name, spokes, [name], { remediationStrategy: { maxConcurrency: 1, timeout: 240 }, ...spec }, annotations);
}

/** The same, and the first spoke does not come to comply: the upgrade is in its first batch. */
export async function inBatch(scene: Scene, spec: Record<string, unknown> = {}): Promise<void> {
  const { world, name, spokes } = scene;
  await world.policies(spokes, { [name]: {} });
  world.propagator.script(`policies/${name}`, spokes[0], { never: true });
  await world.upgrade(name, spokes, [name], { remediationStrategy: { maxConcurrency: 1, timeout: 240 }, ...spec });
  await world.untilInProgress(name, spokes[0]);
}

/** The first spoke complies now. */
export const comply = ({ world, name, spokes }: Scene): void => world.propagator.script(`policies/${name}`, spokes[0], {});

/** An upgrade that pre-caches and does nothing else. */
export const byPrecaching = (
  { world, name, spokes }: Scene,
  spec: Record<string, unknown> = {},
  annotations?: Readonly<Record<string, string>>,
) => world.upgrade(name, spokes, [], { preCaching: true, preCachingConfigRef: { name: 'config' }, ...spec }, annotations);

/** Jobs on both spokes do not end. */
export function holdJobs({ world, spokes }: Scene): void {
  for (const spoke of spokes) world.spokes.setFaults(spoke, { jobsHeld: true });
}

/** Nothing goes wrong on either spoke any more. */
export function mend({ world, spokes }: Scene): void {
  for (const spoke of spokes) world.spokes.setFaults(spoke, {});
}

/** Holds the first spoke, or lets it go. */
export const hold = ({ world, spokes }: Scene, why: string | null) => world.annotateCluster(spokes[0], { 'flotilla.io/hold': why });

/** Lets the first spoke in, or not. */
export const accept = ({ world, spokes }: Scene, hubAcceptsClient: boolean) =>
  world.client.patch(ManagedCluster, { name: spokes[0] }, { spec: { hubAcceptsClient } }, { type: 'merge' });

/** A window that does not open. */
export const NEVER = { 'flotilla.io/window-start': '2099-01-01T00:00:00Z' };
