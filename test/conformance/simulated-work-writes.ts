import { DEFAULT_WORK_CADENCE } from '@flotilla/agent';
import { ManifestWork } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { WatchCache } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { startSimulatedFleet } from './simulated-fleet.ts';

const NAMESPACE = 'openshift-talo-pre-cache';
const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'pre-cache', namespace: NAMESPACE },
  spec: { template: { spec: { containers: [{ name: 'puller', image: 'registry.example/puller:1' }] } } },
};
const paths = (jsonPaths: Record<string, string>) => [
  { type: 'JSONPaths', jsonPaths: Object.entries(jsonPaths).map(([name, path]) => ({ name, path })) },
];
const JOB = { group: 'batch', resource: 'jobs', name: 'pre-cache', namespace: NAMESPACE };
const VERDICT = { started: '.status.startTime', done: '.status.conditions[?(@.type=="Complete")].status' };

/** A work that carries a Job, and reads these values of it back. */
const jobWork = (namespace: string, values: Record<string, string>) => ({
  metadata: { name: 'pre-cache', namespace },
  spec: {
    workload: { manifests: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, job] },
    manifestConfigs: [{ resourceIdentifier: JOB, feedbackRules: paths(values), feedbackScrapeType: 'Watch' }],
  },
});

/** What a Job in a work costs the hub: as many writes as the stock agent makes, from the work's creation to its end. */
export function describeSimulatedWorkWrites(): void {
  describe('writes of agents that do as the stock one', () => {
    test.each([
      { name: 'two values, one known at the start and one at the end: six', values: VERDICT, want: 6 },
      { name: 'values that change while pods end cost one more', values: { ...VERDICT, ready: '.status.ready' }, want: 7 },
    ])('$name', async ({ values, want }) => {
      await using fleet = await startSimulatedFleet({
        names: ['one'],
        seed: 7,
        job: { seconds: 2, jitter: 0 },
        workCadence: { ...DEFAULT_WORK_CADENCE, feedback: 'immediate' },
      });
      const stop = new AbortController();
      const versions = new Set<string>();
      const works = new WatchCache(fleet.hub, ManifestWork, { namespace: 'one' });
      works.subscribe(({ type, object }) => type === 'set' && versions.add(object.metadata.resourceVersion ?? ''));
      works.start(stop.signal);
      await works.synced();
      const { metadata } = await fleet.hub.create(ManifestWork, jobWork('one', values));
      const told = (name: string) => {
        const manifests = works.get(metadata)?.status?.resourceStatus?.manifests ?? [];
        return manifests.flatMap(({ statusFeedback }) => statusFeedback?.values ?? []).find((value) => value.name === name)?.fieldValue
          .string;
      };
      const endedAt = () => fleet.spokes.events('one').find(({ type }) => type === 'job-succeeded')?.at;
      await eventually(() => endedAt() !== undefined);
      // Told by the change itself: the next poll is 10 to 19 s away.
      await eventually(() => told('done') === 'True', 'the end of the job to be told', 3000);
      expect(told('started')).toBeDefined();
      // The creation and the deletion are the hub's.
      await fleet.hub.delete(ManifestWork, metadata);
      await eventually(() => works.get(metadata) === undefined);
      stop.abort();
      const ofTheHub = 2;
      const removal = 1;
      expect(versions.size - ofTheHub + removal).toBe(want);
      expect(
        fleet.spokes.store('one').list({ group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', singular: 'job', namespaced: true }),
      ).toEqual([]);
    });
  });
}
