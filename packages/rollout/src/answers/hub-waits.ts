/** The wait for a hub that decides. Pure. */
import { refKey } from '@flotilla/api';
import { objectOf, statusWrittenAt, type UpgradeFacts } from './facts.ts';
import { bySomebody, type Finding, finding, link } from './finding.ts';
import { judgeHub } from './hub-sign.ts';

/** Nobody decides; undefined while a hub does, or when it is not known. */
export function hubWait(facts: UpgradeFacts): Finding | undefined {
  if (facts.hub.kind === 'read' && !facts.hub.object) return unseenHub(facts);
  const { state, renewedAt } = judgeHub(facts.hub, facts.now);
  if (state !== 'silent') return undefined;
  const object = `Lease ${refKey(objectOf(facts.hub)?.metadata ?? { name: '' })}`;
  const evidence = { object, field: 'spec.renewTime', value: renewedAt ?? '(never)', observedAt: renewedAt };
  return silent('no hub decides: nobody renews its Lease', evidence, 'Start the hub, or see its pods and its log; then ask again.');
}

/** A hub may lead by a Lease of another name: one that has just written the status decides. */
function unseenHub(facts: UpgradeFacts): Finding | undefined {
  const observedAt = statusWrittenAt(facts.upgrade);
  if (observedAt !== undefined && facts.now - Date.parse(observedAt) < RECENT_MS) return undefined;
  const evidence = { object: 'Lease flotilla-hub', field: 'metadata.name', value: '(not found)', observedAt };
  const release = 'Start the hub; where it leads by another Lease (--lease-name), see that one.';
  return silent('no hub was found that decides: there is no Lease by which one leads', evidence, release);
}

const silent = (says: string, evidence: Parameters<typeof link>[1], release: string): Finding =>
  finding('hub-silent', link(says, { ...evidence, isUnknown: true }), bySomebody(release), {
    says: 'a hub that decides',
    since: evidence.observedAt,
  });

/** Twice the time within which a hub that works writes of an upgrade that goes on. */
const RECENT_MS = 60_000;
