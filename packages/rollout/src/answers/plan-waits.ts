/** Why an upgrade is not planned. Pure. */
import { findCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import { isRunning } from '../upgrade/stage.ts';
import { conditionEvidence, fixFor } from './conditions.ts';
import { bySomebody, type Finding, finding, link, upgradeEvidence } from './finding.ts';
import type { Question } from './question.ts';

const { clustersSelected, validated, precacheSpecValid } = ClusterGroupUpgradeCondition;

/** Explains what keeps the upgrade from being planned, in the words of the refusing condition where there is one. */
export function planWait({ facts }: Question): Finding | undefined {
  const { upgrade } = facts;
  if (isRunning(upgrade)) return undefined;
  const conditions = upgrade.status?.conditions;
  if (!conditions?.length)
    return finding(
      'not-planned',
      link('no hub has looked at the upgrade yet', upgradeEvidence(facts, 'status.conditions', '(none)')),
      bySomebody('See that a hub runs and reads this API server; it looks at a new upgrade within seconds.'),
    );
  for (const type of [clustersSelected, validated, precacheSpecValid]) {
    const condition = findCondition(conditions, type);
    if (condition?.status !== 'False') continue;
    return finding('refused', link(condition.message, conditionEvidence(facts, condition, type)), bySomebody(fixFor(condition)), {
      says: condition.message,
    });
  }
  return undefined;
}
