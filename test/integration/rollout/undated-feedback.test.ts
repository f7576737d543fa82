import { Annotation, findCondition } from '@flotilla/api';
import { ManifestWork, ManifestWorkReplicaSet, WORK_APPLIED } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect, test } from 'vitest';
import { eachAttempt } from '../world.ts';
import { installOperator, subscription } from './operators.ts';
import { RolloutWorld } from './world.ts';

const ROLLED_OUT = 'True Completed: All manifestworks rolled out successfully on all clusters';
/** Seconds that a value without a generation waits for, less what two clocks that cut seconds off may differ by. */
const LEAST_SECONDS = 18;

let world: RolloutWorld;

// Strictly nothing is read back but what the template says, so that no value has a generation.
describe.each([{ hubArgs: [] }, { hubArgs: ['--talm-strict'] }])('of a hub with $hubArgs', ({ hubArgs }) => {
  eachAttempt(
    async () => {
      world = await RolloutWorld.start({
        spokes: ['undated'],
        inMemory: true,
        hubArgs,
        simulated: { workCadence: { statusSyncMs: 500, resyncMs: 240_000, feedback: 'immediate' } },
      });
    },
    async () => {
      await world?.stop();
    },
  );

  const setState = (state: string) => {
    const { spec, ...rest } = subscription('undated');
    world.spokes.store('undated').set({ ...rest, spec: { ...spec, channel: 'next' }, status: { state } });
  };
  const work = async () => (await world.client.list(ManifestWork, { namespace: 'undated' })).items[0];
  const reported = async () =>
    (await work())?.status?.resourceStatus?.manifests?.[0]?.statusFeedback?.values?.find(({ name }) => name === 'state')?.fieldValue.string;

  test('what a Subscription says right after it was applied is of the version before, and waits until it was read again', async () => {
    installOperator(world, 'undated', 'undated');
    const manifest = { ...subscription('undated'), spec: { ...subscription('undated').spec, channel: 'next' } };
    const { name, namespace } = manifest.metadata;
    await world.client.create(ManifestWorkReplicaSet, {
      metadata: {
        name: 'undated-t',
        namespace: 'default',
        annotations: { [Annotation.expectedValues]: JSON.stringify([{ manifestIndex: 0, name: 'state', value: 'AtLatestKnown' }]) },
      },
      spec: {
        placementRefs: [{ name: 'dummy' }],
        manifestWorkTemplate: {
          workload: { manifests: [manifest] },
          deleteOption: { propagationPolicy: 'Orphan' },
          manifestConfigs: [
            {
              resourceIdentifier: { group: 'operators.coreos.com', resource: 'subscriptions', name, namespace },
              feedbackRules: [{ type: 'JSONPaths', jsonPaths: [{ name: 'state', path: '.status.state' }] }],
            },
          ],
        },
      },
    });
    await world.upgrade('undated', ['undated'], [], { manifestWorkTemplates: ['undated-t'] });
    // The operator's controller has not looked yet.
    await eventually(async () => (await reported()) === 'AtLatestKnown', 'the state of the version before', 60_000);
    const appliedAt = Date.parse(findCondition((await work())?.status?.conditions, WORK_APPLIED)?.lastTransitionTime ?? '');
    setState('UpgradePending');
    await eventually(async () => (await reported()) === 'UpgradePending', 'the state of this version');
    expect(await world.recorded('undated')).toEqual([]);
    setState('AtLatestKnown');
    await world.untilCondition('undated', 'Succeeded', ROLLED_OUT, 60_000);
    const [first] = world.history('undated').sights.filter(({ status }) => (status.clusters?.length ?? 0) > 0);
    const completedAt = Date.parse(findCondition(first?.status.conditions, 'Succeeded')?.lastTransitionTime ?? '');
    expect((completedAt - appliedAt) / 1000).toBeGreaterThan(LEAST_SECONDS);
  });
});
