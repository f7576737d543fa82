/** The wait for a hub that decides. Pure. */
import { refKey } from '@flotilla/api';
import { objectOf, statusWrittenAt, type UpgradeFacts } from './facts.ts';
import { bySomebody, type Finding, finding, link } from './finding.ts';
import { judgeHub } from './hub-sign.ts';

/** Nobody decides; undefined while a hub does, or when it is not known. */
export function hubWait(facts: UpgradeFacts): Finding | undefined {
  const sign = judgeHub(facts.hub, facts.now);
  if (facts.hub.kind === 'read' && !facts.hub.object) return unseenHub(facts);
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

/** A hub may lead by a Lease of another name: one that has just written the status decides. */
function unseenHub(facts: UpgradeFacts): Finding | undefined {
  const writtenAt = statusWrittenAt(facts.upgrade);
  if (writtenAt !== undefined && facts.now - Date.parse(writtenAt) < RECENT_MS) return undefined;
  const first = link('no hub was found that decides: there is no Lease by which one leads', {
    object: 'Lease flotilla-hub',
    field: 'metadata.name',
    value: '(not found)',
    observedAt: writtenAt,
    isUnknown: true,
  });
  return finding('hub-silent', first, bySomebody('Start the hub; where it leads by another Lease (--lease-name), see that one.'), {
    says: 'a hub that decides',
    since: writtenAt,
  });
}

/** Twice the time within which a hub that works writes of an upgrade that goes on. */
const RECENT_MS = 60_000;
