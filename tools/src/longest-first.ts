import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take a minute and more, the longest first: one that begins last is what a run waits for at its end. */
export const LONGEST = [
  'e2e/install',
  'e2e/precache',
  'e2e/crio',
  'e2e/managed-upgrade',
  'e2e/nodes',
  'e2e/console',
  'system/release',
  'system/image-puller-nodes',
  'system/image-puller-content',
  'system/uninstalling',
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
  'system/upgrade-operator-installed',
  'own-life/versions',
  'own-life/neighbours',
  'own-life/operations',
  'system/image-puller-nodes-proof',
  'system/image-puller',
  'security/hostile-account.test',
  'system/charts-versions',
  'system/charts',
  'system/newcomer',
  'console/breaks',
  'console/pages',
  'system/image-puller-proof',
  'console/story',
  'cli/outputs',
  'cli/inspect',
  'rollout/steering.test',
  'precache/pins',
  'security/agent-writes',
  'system/planned-bytes',
  'precache/impeded',
  'integration/work-conformance',
  'precache/two-upgrades',
  'integration/simulated-work-conformance',
  'version-operator/src/status',
  'version-operator/src/operator.integration',
  'rollout/managed-upgrades',
  'system/images',
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
