/** What a spoke says of its managed upgrade, thing by thing, as its own API server has it. Pure. */
import type { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import type { UpgradeConfig } from '@flotilla/api/managed';
import { reportUpgrade, upgraders } from '@flotilla/upgrade';

/** The objects of a spoke that an upgrade shows in. */
interface SpokeState {
  readonly upgradeConfig: UpgradeConfig | undefined;
  readonly clusterVersion: ClusterVersion | undefined;
  readonly operators: readonly ClusterOperator[];
}

/** All that can be said by now of the upgrade to a version, the earliest first; what was said before is said again. */
export function newsOf({ upgradeConfig, clusterVersion, operators }: SpokeState, version: string): string[] {
  if (upgradeConfig?.spec.desired.version !== version) return [];
  const { steps, complaints, phase } = reportUpgrade(upgradeConfig);
  const of = upgraders[upgradeConfig.spec.type].steps.length;
  const news = [`UpgradeConfig is there: ${upgradeConfig.spec.type}, version ${version}`];
  // A refusal is told in full; of a step that waits, what for.
  for (const complaint of complaints) news.push(`complaint: ${complaint}`);
  const commenced = steps.findIndex(({ step }) => step === 'commence');
  for (const [index, { step, state, what }] of steps.entries()) {
    if (index === commenced + 1) news.push(...releaseNews(clusterVersion, operators, version));
    if (state === 'done') news.push(`step ${String(index + 1).padStart(2)} of ${of}  ${step}`);
    else if (state === 'failing') news.push(`step ${String(index + 1).padStart(2)} of ${of}  ${step} is tried again: ${what}`);
  }
  if (phase === 'Upgraded' || phase === 'Failed') news.push(`UpgradeConfig is ${phase}`);
  return news;
}

function releaseNews(clusterVersion: ClusterVersion | undefined, operators: readonly ClusterOperator[], version: string): string[] {
  if (clusterVersion?.spec.desiredUpdate?.version !== version) return [];
  const news = [`ClusterVersion desires ${version}`];
  const entry = clusterVersion.status?.history?.find((one) => one.version === version);
  if (entry) news.push(`release ${version} is taken, ${entry.verified ? 'its signature checked' : 'not verified'}`);
  const agree = operators.filter(({ status }) => status?.versions?.some((one) => one.name === 'operator' && one.version === version));
  news.push(...agree.map(({ metadata }) => `ClusterOperator ${metadata.name} is of ${version}`));
  if (entry?.state === 'Completed') news.push(`release ${version} is applied`);
  return news;
}
