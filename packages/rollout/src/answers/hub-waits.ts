/** The wait for a hub that decides. Pure. */
import { refKey } from '@flotilla/api';
import { objectOf, type UpgradeFacts } from './facts.ts';
import { bySomebody, type Finding, finding, link } from './finding.ts';
import { judgeHub } from './hub-sign.ts';

/** Nobody decides; undefined while a hub does, or when it is not known. */
export function hubWait(facts: UpgradeFacts): Finding | undefined {
  const sign = judgeHub(facts.hub, facts.now);
  if (sign.state !== 'silent') return undefined;
  const lease = objectOf(facts.hub);
  const first = link('no hub decides: nobody renews its Lease', {
    object: `Lease ${refKey(lease?.metadata ?? { name: '' })}`,
    field: 'spec.renewTime',
    value: sign.renewedAt ?? '(never)',
    observedAt: sign.renewedAt,
    isUnknown: true,
  });
  return finding('hub-silent', first, bySomebody('Start the hub, or see its pods and its log; then ask again.'), {
    says: 'a hub that decides',
    since: sign.renewedAt,
  });
}
