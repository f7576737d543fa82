import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take a minute and more, the longest first: one that begins last is what a run waits for at its end. */
export const LONGEST = [
  'e2e/install',
  'e2e/precache',
  'e2e/crio',
  'e2e/managed-upgrade',
  'e2e/nodes',
  'e2e/console',
  'integration/release',
  'integration/image-puller-nodes',
  'integration/image-puller-content',
  'integration/uninstalling',
  'cli/newcomers',
  'cli/why',
  'cli/rights',
  'rollout/proofs',
  'upgrade-operator/src/withdrawn-osd.integration',
  'upgrade-operator/src/withdrawn-aro.integration',
  'rollout/chaos.test',
  'precache/edits',
  'precache/disturbances',
  'version-operator/payload-chaos',
  'integration/transport-conformance',
  'integration/upgrade-operator-installed',
  'own-life/versions',
  'own-life/neighbours',
  'own-life/operations',
  'integration/image-puller-nodes-proof',
  'integration/image-puller',
  'security/hostile-account.test',
  'integration/charts-versions',
  'integration/charts',
  'integration/newcomer',
  'console/breaks',
  'console/pages',
  'integration/image-puller-proof',
  'console/story',
  'cli/outputs',
  'cli/inspect',
  'rollout/steering.test',
  'precache/pins',
  'security/agent-writes',
  'integration/planned-bytes',
  'precache/impeded',
  'integration/work-conformance',
  'precache/two-upgrades',
  'integration/simulated-work-conformance',
  'version-operator/src/status',
  'version-operator/src/operator.integration',
  'rollout/managed-upgrades',
  'integration/images',
];

const rankOf = ({ moduleId }: Pick<TestSpecification, 'moduleId'>): number => {
  const rank = LONGEST.findIndex((name) => moduleId.includes(`/${name}.`));
  return rank < 0 ? LONGEST.length : rank;
};

/** Begins with the files that take longest; the others follow as vitest has them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}
